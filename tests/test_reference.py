"""Every exported name is in the table of modules or in the reference, and the reference has no other names."""

import importlib
import re
from pathlib import Path

import pytest

from tutorials.site.reference import PACKAGES

ROOT = Path(__file__).parent.parent
MODULES = (ROOT / "tutorials/site/pages/modules.md").read_text()
SECTIONS = re.split(r"^## ", (ROOT / "tutorials" / "reference.md").read_text(), flags=re.MULTILINE)


def rows(text):
    """The names in the first column of a page's tables."""
    first = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {name for cell in first for name in re.findall(r"`(\w+)[`(]", cell)}


def listed(package):
    """The names in the section of a package and in the table of modules."""
    (section,) = [section for section in SECTIONS if f"`{PACKAGES[package]}" in section.partition("\n")[0]]
    return rows(MODULES) | set(re.findall(r"`(\w+)`", section))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_exported_name_is_listed(package):
    """Readers find an unlisted name only by chance."""
    assert sorted(set(importlib.import_module(package).__all__) - listed(package)) == []


def test_the_reference_has_only_exported_names():
    """Some package exports every name in the first column of a table."""
    exported = {name for package in PACKAGES for name in importlib.import_module(package).__all__}
    named = set().union(*map(rows, SECTIONS))

    assert sorted(named - exported) == []
