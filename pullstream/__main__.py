"""`python -m pullstream check [package.module:name ...]`, and `view TRACE`: tools for authors of modules."""

import argparse
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

from pullstream.blueprint import Blueprint, Site
from pullstream.conformance import READY, Report, Subject, conformance
from pullstream.errors import PullstreamError
from pullstream.trace.command import add_view, view_trace

SHOWN = 3
"""The number of violations that are drawn."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code: 1 for violations, 2 for what cannot be tested."""
    parser = argparse.ArgumentParser(prog="python -m pullstream", description="Tools for authors of modules.")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check",
        help="run modules against partners that behave in every way partners may",
        description="Run modules against reference partners in every way partners may behave; print what was found. "
        "The time is virtual, and threads do not know of it: of modules that use them, hangs are found that are none.",
    )
    check.add_argument(
        "names",
        nargs="*",
        metavar="package.module:name",
        help="a blueprint, a function that makes one without arguments, or a Subject; or the name of a ready-made "
        "module; without any, all ready-made modules",
    )
    check.add_argument("--cells", type=int, default=200, help="cells of each module, chosen by chance (200)")
    check.add_argument("--seeds", type=int, default=1, help="orders in which tasks run, of each cell (1)")
    check.add_argument("--full", action="store_true", help="all cells: thousands of each module")
    check.add_argument(
        "--around", action="store_true", help="the function takes a callable, which it calls with values"
    )
    add_view(commands)
    given = parser.parse_args(arguments)
    if given.command == "view":
        return view_trace(given)
    sys.path.insert(0, "")
    try:
        subjects = [found for name in given.names for found in _subjects(name)] or list(READY)
        expectations: dict[str, Any] = {"around": True} if given.around else {}
        report = conformance(
            *subjects,
            cells=None if given.full else given.cells,
            seeds=given.seeds,
            progress=_tell if given.full else None,
            **expectations,
        )
    except (LookupError, PullstreamError) as exc:
        print(f"python -m pullstream check: {exc}", file=sys.stderr)  # noqa: T201 - a command line
        return 2
    print(_told(report))  # noqa: T201 - a command line
    return 0 if report.ok else 1


def _subjects(name: str) -> list[Any]:
    """The subjects that a name of the command line stands for."""
    module_name, colon, attribute = name.partition(":")
    if not colon:
        ready = [
            subject for subject in READY if subject.name == name or subject.name.startswith((f"{name} ", f"{name},"))
        ]
        if ready:
            return ready
        raise LookupError(
            f"{name!r} is no ready-made module; your own are named package.module:name. Ready-made are "
            f"{'; '.join(subject.name for subject in READY)}",
        )
    try:
        module = importlib.import_module(module_name)
    except ImportError as exc:
        raise LookupError(f"{module_name!r} cannot be imported: {exc}") from exc
    found = getattr(module, attribute, None)
    if found is None:
        raise LookupError(f"{module_name!r} has no {attribute!r}")
    if isinstance(found, (Blueprint, Subject)):
        return [found]
    if callable(found):
        return [Subject(attribute, cast("Callable[..., Blueprint]", found), site=_defined(found))]
    raise LookupError(f"{name} is {found!r}: neither a blueprint, nor a function that makes one, nor a Subject")


def _defined(function: Any) -> Site | None:
    """The line where a function is defined, for it is composed here, which tells nobody anything."""
    function = inspect.unwrap(function)
    try:
        filename, (_, line) = inspect.getsourcefile(function), inspect.getsourcelines(function)
    except (OSError, TypeError):
        return None
    return None if filename is None else Site(filename, line)


def _tell(name: str) -> None:
    print(name, file=sys.stderr)  # noqa: T201 - progress of a long run


def _told(report: Report) -> str:
    drawn = "\n\n".join(
        f"{finding}\n    replay({finding.subject!r}, {finding.cell})" for finding in report.findings[:SHOWN]
    )
    more = len(report.findings) - SHOWN
    rest = f"\n\n... and {more} more" if more > 0 else ""
    return f"{report}\n\n{drawn}{rest}" if report.findings else str(report)


if __name__ == "__main__":
    sys.exit(main())
