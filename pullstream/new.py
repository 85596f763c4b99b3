"""The command `new`: create a folder for a package of your own modules, with a first module and its tests."""

import argparse
import keyword
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any, Final

from pullstream.errors import PullstreamError

TEMPLATE: Final = Path(__file__).parent / "template"
"""The template folder. Files that Python or its tools would pick up here end in `.txt`."""


def add_new(commands: Any) -> None:
    """Add the command to the parser of `python -m pullstream`."""
    parser = commands.add_parser(
        "new",
        help="create a package for your own modules, with a first one and its tests",
        description="Create a folder NAME with a package for your own modules: a first module and its tests.",
    )
    parser.add_argument(
        "name", metavar="NAME", help="the project's name, such as `shop-streams`; the folder must be new"
    )
    parser.set_defaults(run=make_new)


def make_new(given: argparse.Namespace) -> int:
    """Run the command and return its exit code; refuses an invalid or taken name, and an existing folder."""
    folder = Path(given.name)
    package = re.sub(r"[-.]+", "_", folder.name).lower()
    if wrong := _wrong(folder.name, package):
        raise PullstreamError(f"{folder.name!r} cannot be the name of a package: {wrong}")
    if folder.exists():
        raise PullstreamError(f"{folder} already exists: nothing was changed")
    if package == "tests" or find_spec(package) is not None:
        # Its tests would import one package in place of the other.
        raise PullstreamError(f"{package!r} is already the name of another package: nothing was changed")
    try:
        _fill(folder, package)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    tests = f"cd {folder} && python -m pip install -e '.[test]' && python -m pytest"
    print(f"created {folder}; run its tests with: {tests}")  # noqa: T201 - the command's output
    return 0


def _fill(folder: Path, package: str) -> None:
    """Make the files of the template in a new folder."""
    for path in sorted(TEMPLATE.rglob("*")):
        if path.is_file():
            parts = [package if part == "package" else part for part in path.relative_to(TEMPLATE).parts]
            made = folder.joinpath(*parts)
            made = made.with_name(made.name.removesuffix(".txt"))
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(Template(path.read_text("utf-8")).substitute(project=folder.name, package=package), "utf-8")


def _wrong(name: str, package: str) -> str:
    """Return why a name cannot be installed or imported; "" if it can."""
    if keyword.iskeyword(package):
        return "it is a Python keyword"
    if not name[:1].isalpha():
        return "it must begin with a letter"
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        return "it may contain only letters, digits, '-', '.' and '_'"
    return "" if name[-1].isalnum() else "it must end in a letter or a digit"
