"""The command `shake`: simulate a pipeline under many schedules."""

import argparse
import sys
from pathlib import Path
from typing import Any

from pullstream.conformance.targets import subject_of
from pullstream.shake.report import Shaken
from pullstream.shake.shaking import shake
from pullstream.trace.file import Trace
from pullstream.trace.view import page_of


def add_shake(commands: Any) -> None:
    """Add the command to a parser."""
    parser = commands.add_parser(
        "shake",
        help="run a pipeline under many schedules, and shrink the one that breaks it",
        description="Run a pipeline under many schedules: orders of tasks, delays, cuts of batches, aborts, failures. "
        "Compare each run with an undisturbed one, and print the schedules that break it, with the fewest deviations "
        "from the normal one that show it. Time is virtual. Exit codes: 0 no difference, 1 differences, 2 the pipeline "
        "cannot be simulated.",
    )
    parser.add_argument(
        "target",
        metavar="file.py:name",
        help="a function that returns a pipeline, also package.module:name, and with arguments: 'mine.py:make(3)'",
    )
    parser.add_argument("--seeds", type=int, default=1000, help="the number of schedules to try (1000)")
    parser.add_argument("--seed", type=int, help="run only this seed, as printed in a report")
    parser.add_argument(
        "--journal",
        action="store_true",
        help="kill runs, cut the power and resume with a journal; the function receives a folder for the files",
    )
    parser.add_argument(
        "--compare",
        choices=["auto", "order", "times", "nothing"],
        default="auto",
        help="what is the same in every run: the values in order, or per time (by default, the modules decide)",
    )
    parser.add_argument(
        "--trace", type=Path, metavar="PATH", help="write the trace of the first difference, and a page"
    )
    parser.set_defaults(run=shake_pipeline)


def shake_pipeline(given: argparse.Namespace) -> int:
    """Run the command; return the exit code."""
    sys.path.insert(0, "")
    make = subject_of(given.target).make
    report = shake(make, given.seeds, seed=given.seed, journal=given.journal, compare=given.compare)
    print(f"{report}{_again(report, given)}")  # noqa: T201 - a command line
    if given.trace is not None:
        print(f"\n{_played(report, given.trace)}")  # noqa: T201 - a command line
    return 0 if report.ok else 1


def _again(report: Shaken, given: argparse.Namespace) -> str:
    if report.ok or given.seed is not None:
        return ""
    seeds = ", ".join(str(each.seed) for each in report.differences)
    options = " --journal" * given.journal + ("" if given.compare == "auto" else f" --compare {given.compare}")
    return (
        f"\n\nAgain, with a page (seeds: {seeds}):\n  python -m pullstream shake {given.target!r}{options} "
        f"--seed {report.differences[0].seed} --trace shaken.trace"
    )


def _played(report: Shaken, path: Path) -> str:
    """Write the trace of the first difference and its page, if there is one; return where they are."""
    if not report.differences:
        return f"{path} was not written, because there is no difference; run(..., trace=PATH) traces any run"
    difference = report.differences[0]
    page = path.with_name(f"{path.name}.html")
    path.write_text(difference.trace, encoding="utf-8")
    trace = Trace.of(difference.trace.splitlines())
    told = f"{difference.kind}: {difference.what}"
    page.write_text(page_of(trace, f"Seed {difference.seed}", told=told, step=difference.step), encoding="utf-8")
    return f"{path}\n{page}"
