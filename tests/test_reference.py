"""Every exported name stands in README or in the reference, and the reference names nothing else."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SECTIONS = re.split(r"^## ", (ROOT / "tutorials" / "reference.md").read_text(), flags=re.MULTILINE)
PACKAGES = {
    "pullstream": "import pullstream as ps",
    "pullstream.checker": "from pullstream import checker",
    "pullstream.conformance": "from pullstream.conformance import",
    "pullstream.incremental": "from pullstream.incremental import",
    "pullstream.authoring": "from pullstream.authoring import",
    "timely": "import timely",
    "timely.theory": "from timely import theory",
    "timely.theory.model": "from timely.theory import model",
    "adapters.files": "from adapters import files",
    "adapters.spark": "from adapters import spark",
    "adapters.arrow": "from adapters import arrow",
    "adapters.display": "from adapters.display import",
    "adapters.metrics": "from adapters.metrics import",
}
"""How a section of the reference begins that lists a package's names."""


def rows(text):
    """The names in the first column of a page's tables."""
    first = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {name for cell in first for name in re.findall(r"`(\w+)[`(]", cell)}


def listed(package):
    """The names in the section of a package, wherever they stand in it, and those of README's tables."""
    (section,) = [section for section in SECTIONS if f"`{PACKAGES[package]}" in section.partition("\n")[0]]
    return rows(README) | set(re.findall(r"`(\w+)`", section))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_has_its_place(package):
    """A name that stands nowhere is found by chance alone."""
    assert sorted(set(importlib.import_module(package).__all__) - listed(package)) == []


def test_the_reference_names_nothing_that_is_gone():
    """A row's names are exported by a package of its section, or are the toolkit's packages themselves."""
    exported = {name for package in PACKAGES for name in importlib.import_module(package).__all__}
    named = set().union(*map(rows, SECTIONS))

    assert sorted(named - exported) == []


def test_readme_links_it():
    """Who looks for a name begins there."""
    assert "(tutorials/reference.md)" in README
