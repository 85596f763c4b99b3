"""The command `new`: a folder for a package of one's own modules, with a first module and its tests."""

import argparse
import keyword
import re
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Any, Final

TEMPLATE: Final = Path(__file__).parent / "template"
"""The folder as it will be; what would be Python's, or its tools', while it lies here ends in `.txt`."""


def add_new(commands: Any) -> None:
    """Add the command to those of `python -m pullstream`."""
    parser = commands.add_parser(
        "new",
        help="make a package of your own modules, with a first one and its tests",
        description="Make a folder NAME with a package of your own modules: a first one, and its tests.",
    )
    parser.add_argument("name", metavar="NAME", help="what it is called, as `shop-streams`; the folder must be new")


def make_new(given: argparse.Namespace) -> int:
    """Run the command; gives 2 where there is something already, or the name is none or another's."""
    folder = Path(given.name)
    package = re.sub(r"[-.]+", "_", folder.name).lower()
    if wrong := _wrong(folder.name, package):
        print(f"{folder.name!r} is no name for a package: {wrong}")  # noqa: T201 - a command says
        return 2
    if folder.exists():
        print(f"{folder} is there already: nothing was changed")  # noqa: T201
        return 2
    if package == "tests" or find_spec(package) is not None:
        # Its tests would import one of the two in place of the other.
        print(f"{package!r} is the name of another package already: nothing was changed")  # noqa: T201
        return 2
    for path in sorted(TEMPLATE.rglob("*")):
        if path.is_file():
            parts = [package if part == "package" else part for part in path.relative_to(TEMPLATE).parts]
            made = folder.joinpath(*parts)
            made = made.with_name(made.name.removesuffix(".txt"))
            made.parent.mkdir(parents=True, exist_ok=True)
            made.write_text(Template(path.read_text("utf-8")).substitute(project=folder.name, package=package), "utf-8")
    tests = f"cd {folder} && python -m pip install -e '.[test]' && python -m pytest"
    print(f"{folder} is made; its tests: {tests}")  # noqa: T201
    return 0


def _wrong(name: str, package: str) -> str:
    """The reason why a name cannot be installed or imported; nothing if it can."""
    if keyword.iskeyword(package):
        return "it is a word of Python's"
    if not name[:1].isalpha():
        return "it does not begin with a letter"
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        return "it has other signs than letters, digits, - and _"
    return "" if name[-1].isalnum() else "it does not end in a letter or a digit"
