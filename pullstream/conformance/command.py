"""The command `check`: run modules through the conformance kit."""

import argparse
import shlex
import sys
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from pullstream.conformance.cells import Cell
from pullstream.conformance.kit import conformance
from pullstream.conformance.ready import READY
from pullstream.conformance.report import Report
from pullstream.conformance.subject import EXPECTATIONS

SHOWN = 3
"""The number of findings to print."""


def add_check(commands: Any) -> None:
    """Add the command to a parser."""
    check = commands.add_parser(
        "check",
        help="run modules against neighbours that behave in every permitted way",
        description="Run modules against neighbours that behave in every permitted way, and print the findings, "
        "the simplest case first. Exit codes: 0 no findings, 1 findings, 2 a module cannot be tested, or emits no "
        "value. Time is virtual: a module that uses threads may be reported as hanging although it is not.",
    )
    check.add_argument(
        "names",
        nargs="*",
        metavar="package.module:name",
        help="a blueprint, a function that makes one, or a Subject; also file.py:name, and with arguments: "
        "'own:every(3, last=True)'; or the name of a ready-made module; without names, all ready-made modules",
    )
    check.add_argument("--cells", type=int, default=200, help="cells (behaviours of neighbours) per module (200)")
    check.add_argument("--seeds", type=int, help="task orders per cell (1; with several inputs 3)")
    check.add_argument("--seed", type=int, default=0, help="another choice of cells (0)")
    check.add_argument("--full", action="store_true", help="all cells: thousands per module")
    check.add_argument("--limit", type=float, default=20.0, help="seconds that a cell may take (20; 0: no limit)")
    check.add_argument("--replay", metavar="CELL", help="run one cell, as printed in a finding: 'values=3 limit=1'")
    expected = check.add_argument_group("the module's arguments, and what to expect of it")
    special: dict[str, dict[str, Any]] = {
        "inputs": {"type": int, "metavar": "NUMBER"},
        "values": {"metavar": "FUNCTION"},
    }
    for name, text in EXPECTATIONS.items():
        how: dict[str, Any] = special.get(name, {"action": argparse.BooleanOptionalAction})
        expected.add_argument(f"--{name.replace('_', '-')}", help=text, **how)
    check.set_defaults(run=check_modules)


def check_modules(given: argparse.Namespace) -> int:
    """Run the command; return the exit code: 1 for findings, 2 if a module was not tested."""
    sys.path.insert(0, "")
    said = {name: getattr(given, name) for name in EXPECTATIONS if getattr(given, name) is not None}
    expected = said
    if "values" in said:
        expected = {**said, "values": _function(said["values"])}
    # Resolve the names first, so that a wrong one is reported at once; the modules are imported where they run.
    subjects = [found for name in given.names for found in _subjects(name)] or list(READY)
    report = conformance(
        *subjects,
        cells=None if given.full else given.cells,
        seeds=given.seeds,
        seed=given.seed,
        limit=given.limit or None,
        replay=given.replay,
        progress=_tell if given.full else None,
        **expected,
    )
    print(_text(report, said))  # noqa: T201 - a command line
    if report.ok and not given.replay and said.get("flushes") and "per_time" not in said:
        _suggest_per_time(subjects, given, expected)
    return 0 if report.ok else 2 if report.vacuous else 1


def _suggest_per_time(subjects: list[Any], given: argparse.Namespace, expected: dict[str, Any]) -> None:
    """Print a remark if a module that keeps values until a time is complete mixes those of several open times."""
    report = conformance(
        *subjects, cells=given.cells, seed=given.seed, limit=given.limit or None, **expected, per_time=True
    )
    if found := report.first(1):
        print(  # noqa: T201 - a command line
            f"\nThe output at a time depends on the values at other times too:\n"
            f"  {found[0].scene}\n  {found[0].message.splitlines()[0]}\n"
            f"If that is a mistake, check with --per-time; otherwise --no-per-time leaves out this remark."
        )


def _subjects(name: str) -> list[Any]:
    """Return the subjects for a name on the command line: an author's own, or ready-made ones."""
    if ":" in name:
        return [name]
    ready = [subject for subject in READY if subject.name == name or subject.name.startswith((f"{name} ", f"{name},"))]
    if ready:
        return ready
    near = get_close_matches(name, [subject.name for subject in READY], 3)
    meant = f" Ready-made modules with a similar name: {', '.join(near)}." if near else ""
    raise LookupError(
        f"{name!r} is not a ready-made module. To check a module of your own, write where it is and its name, "
        f"{name}:NAME; without a name, all ready-made modules are checked.{meant}"
    )


def _function(text: str) -> Callable[[int], object]:
    try:
        function: Any = eval(text, {})  # noqa: S307 - the user's own command line
    except Exception as exc:
        raise TypeError(
            f"--values takes a Python expression, a function of a number such as 'lambda n: str(n)', not {text}: {exc}"
        ) from exc
    if not callable(function):
        raise TypeError(f"--values takes a function of a number, such as 'lambda n: str(n)', not {text}")
    return function


def _tell(name: str) -> None:
    print(name, file=sys.stderr)  # noqa: T201 - progress of a long run


def _text(report: Report, said: dict[str, Any]) -> str:
    if report.ok:
        return str(report)
    shown = report.shown(lambda finding: _again(finding.subject, said, finding.cell), SHOWN, _as_options)
    more = len(report.findings) - SHOWN
    rest = f"\n\n... and {more} more" if more > 0 else ""
    return f"{report}\n\n{shown}{rest}"


def _as_options(text: str) -> str:
    """Rewrite the expectations named in a text as command-line options."""
    for name in EXPECTATIONS:
        dashed = name.replace("_", "-")
        text = text.replace(f"{name}=True", f"--{dashed}").replace(f"{name}=False", f"--no-{dashed}")
    return text.replace("values=lambda n: ...", "--values 'lambda n: ...'")


def _again(name: str, said: dict[str, Any], cell: Cell) -> str:
    """Return the command that runs one cell again."""
    options: list[str] = []
    for option, value in said.items():
        dashed = option.replace("_", "-")
        options += [f"--{'' if value else 'no-'}{dashed}"] if isinstance(value, bool) else [f"--{dashed}", str(value)]
    return shlex.join(["python", "-m", "pullstream", "check", name, *options, "--replay", str(cell)])
