"""The pages of names: the exported names of each package, described by their docstrings."""

import importlib
import re
from collections.abc import Sequence
from typing import Final

PACKAGES: Final = {
    "pullstream": "import pullstream as ps",
    "pullstream.types": "from pullstream import types",
    "pullstream.errors": "from pullstream import errors",
    "pullstream.duplex": "from pullstream import duplex",
    "pullstream.checker": "from pullstream import checker",
    "pullstream.conformance": "from pullstream.conformance import",
    "pullstream.shake": "from pullstream.shake import",
    "pullstream.incremental": "from pullstream.incremental import",
    "pullstream.trace": "from pullstream.trace import",
    "pullstream.authoring": "from pullstream.authoring import",
    "timely": "from pullstream import timely",
    "timely.theory": "from pullstream.timely import theory",
    "timely.theory.model": "from pullstream.timely.theory import model",
    "adapters.files": "from pullstream import files",
    "adapters.tables": "from pullstream import tables",
    "adapters.columns": "from pullstream import columns",
    "adapters.spark": "from pullstream import spark",
    "adapters.arrow": "from pullstream import arrow",
    "adapters.display": "from pullstream.display import",
    "adapters.metrics": "from pullstream.metrics import",
}
"""The packages that export names, and the beginning of their headings in the reference."""

NAMED: Final = re.compile(r"`(\w+)(?:\([^`]*\))?`")


def door(package: str) -> str:
    """Return the name by which users import a package.

    >>> door("adapters.files"), door("timely.theory"), door("pullstream.trace")
    ('pullstream.files', 'pullstream.timely.theory', 'pullstream.trace')
    """
    name = package.removeprefix("adapters.")
    return name if name.startswith("pullstream") else f"pullstream.{name}"


def names_of(package: str) -> list[str]:
    """Return the exported names of a package: functions, then classes and other values, then errors."""
    module = importlib.import_module(package)

    def kind(name: str) -> tuple[int, str]:
        thing = getattr(module, name, None)
        failure = isinstance(thing, type) and issubclass(thing, BaseException)
        return 2 if failure else 0 if name.islower() else 1, name

    return sorted(module.__all__, key=kind)


def reference(package: str) -> str:
    """Return a page on which mkdocstrings describes a package and all of its exported names."""
    own = f"::: {package}\n    options:\n      members: false\n      show_root_heading: false"
    return "\n\n".join([f"# {door(package)}", own, *(f"::: {package}.{name}" for name in names_of(package))]) + "\n"


def linked(page: str) -> str:
    """Link the names in the first columns of a page's tables to their descriptions."""
    packages: Sequence[str] = ("pullstream", "pullstream.duplex", "adapters.files", "adapters.tables", "adapters.spark")
    lines: list[str] = []
    for line in page.split("\n"):
        if line.startswith("## "):
            packages = [package for package, opening in PACKAGES.items() if f"`{opening}" in line] or packages
        lines.append(_row(line, packages) if line.startswith("| ") else line)
    return "\n".join(lines)


def _row(line: str, packages: Sequence[str]) -> str:
    exported = {name: f"{package}.{name}" for package in reversed(packages) for name in names_of(package)}

    def link(found: re.Match[str]) -> str:
        return f"[{found[0]}][{exported[found[1]]}]" if found[1] in exported else found[0]

    first, bar, rest = line[2:].partition(" | ")
    return f"| {NAMED.sub(link, first)}{bar}{rest}"
