"""The command `check`: modules, put through the conformance kit."""

import argparse
import shlex
import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any, Final

import attrs

from pullstream.conformance.cells import Cell
from pullstream.conformance.kit import conformance
from pullstream.conformance.ready import READY
from pullstream.conformance.report import Report
from pullstream.conformance.subject import Subject
from pullstream.errors import PullstreamError

SHOWN = 3
"""The number of findings that are told."""

EXPECTED: Final = (LookupError, TypeError, ValueError, SyntaxError, PullstreamError)
"""Exceptions that say what cannot be tested; any other is the author's, and says where it was raised."""

NOT_SAID: Final = frozenset({"name", "make", "site"})
"""The fields of a subject that no option says."""

HELP: Final = {
    "around": "it takes a function of one value, which it calls with every value",
    "calls": "it takes an async function of one value",
    "resource": "it takes a context manager, which it enters at the first ask and leaves in every ending",
    "inputs": "it takes so many sources",
    "values": "what goes in, as a function of a number: 'lambda n: {\"id\": n}'",
    "ordered": "values come in order (or --no-ordered: as they are ready)",
    "batches": "it looks at batches",
    "timing": "it looks at the clock",
    "flushes": "it keeps values back, and gives them at the end",
    "grows": "it asks for more than it was asked for",
    "absorbs": "it deals with failures itself, or is there to fail",
    "endless": "it does not end by itself",
    "reopens": "it opens its sources, or its resource, more than once",
    "keeps": "it keeps times open, as a window does",
    "silent": "it gives no values",
    "per_time": "what it gives at a time comes of the values of that time alone",
    "ascending": "what goes in has to be in order",
    "differ": "what goes in has to differ, each value from all others",
}


def add_check(commands: Any) -> None:
    """Add the command to those of a parser."""
    check = commands.add_parser(
        "check",
        help="run modules against partners that behave in every way partners may",
        description="Run modules against reference partners in every way partners may behave; print what was found, "
        "the simplest case first. Exit codes: 0 nothing was found, 1 something was, 2 it cannot be tested, or no value "
        "came out. The time is virtual, and threads do not know of it: of modules that use them, hangs are found that "
        "are none.",
    )
    check.add_argument(
        "names",
        nargs="*",
        metavar="package.module:name",
        help="a blueprint, a function that makes one, or a Subject; also file.py:name, and with arguments: "
        "'own:every(3, last=True)'; or the name of a ready-made module; without any, all ready-made modules",
    )
    check.add_argument("--cells", type=int, default=200, help="cells of each module, chosen by chance (200)")
    check.add_argument("--seeds", type=int, help="orders in which tasks run, of each cell (1; of several inputs 3)")
    check.add_argument("--seed", type=int, default=0, help="another choice of cells (0)")
    check.add_argument("--full", action="store_true", help="all cells: thousands of each module")
    check.add_argument("--limit", type=float, default=20.0, help="seconds that a cell may take (20; 0 waits for ever)")
    check.add_argument("--replay", metavar="CELL", help="one cell, as a finding says it: 'values=3 limit=1'")
    expected = check.add_argument_group("what the module takes, and what may be expected of it")
    for field in attrs.fields(Subject):
        if field.name not in NOT_SAID:
            option, text = f"--{field.name.replace('_', '-')}", HELP[field.name]
            if field.name == "inputs":
                expected.add_argument(option, type=int, metavar="NUMBER", help=text)
            elif field.name == "values":
                expected.add_argument(option, metavar="FUNCTION", help=text)
            else:
                expected.add_argument(option, action=argparse.BooleanOptionalAction, help=text)


def check_modules(given: argparse.Namespace) -> int:
    """Run the command; gives the exit code: 1 for findings, 2 for what cannot be, or was not, tested."""
    sys.path.insert(0, "")
    said = {name: getattr(given, name) for name in HELP if getattr(given, name) is not None}
    try:
        # The name is read once, so that a wrong one is told at once; the modules are imported where they are run.
        subjects = [found for name in given.names for found in _subjects(name)] or list(READY)
        report = conformance(
            *subjects,
            cells=None if given.full else given.cells,
            seeds=given.seeds,
            seed=given.seed,
            limit=given.limit or None,
            replay=given.replay,
            progress=_tell if given.full else None,
            **({**said, "values": _function(said["values"])} if "values" in said else said),
        )
    except Exception as exc:
        notes: list[str] = getattr(exc, "__notes__", [])
        if not (notes or isinstance(exc, EXPECTED)):
            raise
        what = str(exc) if isinstance(exc, PullstreamError) or type(exc) in EXPECTED else f"{type(exc).__name__}: {exc}"
        print("\n  ".join([f"python -m pullstream check: {what}", *notes]), file=sys.stderr)  # noqa: T201 - a command line
        return 2
    print(_told(report, said))  # noqa: T201 - a command line
    return 0 if report.ok else 2 if report.vacuous else 1


def _subjects(name: str) -> list[Any]:
    """The subjects that a name of the command line stands for: its own, or ready-made ones."""
    if ":" in name:
        return [name]
    ready = [subject for subject in READY if subject.name == name or subject.name.startswith((f"{name} ", f"{name},"))]
    if ready:
        return ready
    near = get_close_matches(name, [subject.name for subject in READY], 3)
    meant = f" Ready-made modules of a name like it: {', '.join(near)}." if near else ""
    raise LookupError(
        f"{name!r} is no ready-made module. To check one of your own name it as well as where it is, {name}:NAME; "
        f"without a name all ready-made ones are checked.{meant}"
    )


def _function(text: str) -> Callable[[int], object]:
    try:
        function: Any = eval(text, {})  # noqa: S307 - of whoever has the shell
    except Exception as exc:
        raise TypeError(
            f"--values takes an expression of Python, a function of a number such as 'lambda n: str(n)', and not "
            f"{text}: {exc}"
        ) from exc
    if not callable(function):
        raise TypeError(f"--values is a function of a number, such as 'lambda n: str(n)', and not {text}")
    return function


def _tell(name: str) -> None:
    print(name, file=sys.stderr)  # noqa: T201 - progress of a long run


def _told(report: Report, said: dict[str, Any]) -> str:
    if report.ok:
        return str(report)
    told = report.shown(lambda finding: _again(finding.subject, said, finding.cell), SHOWN, _as_options)
    more = len(report.findings) - SHOWN
    rest = f"\n\n... and {more} more" if more > 0 else ""
    return f"{report}\n\n{told}{rest}"


def _as_options(text: str) -> str:
    """The expectations that a text names, as they are said in a shell."""
    for name in HELP:
        dashed = name.replace("_", "-")
        text = text.replace(f"{name}=True", f"--{dashed}").replace(f"{name}=False", f"--no-{dashed}")
    return text.replace("values=lambda n: ...", "--values 'lambda n: ...'")


def _again(name: str, said: dict[str, Any], cell: Cell) -> str:
    """The command that runs one cell again."""
    options: list[str] = []
    for option, value in said.items():
        dashed = option.replace("_", "-")
        options += [f"--{'' if value else 'no-'}{dashed}"] if isinstance(value, bool) else [f"--{dashed}", str(value)]
    return shlex.join(["python", "-m", "pullstream", "check", name, *options, "--replay", str(cell)])
