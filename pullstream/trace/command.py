"""`python -m pullstream view TRACE`: the player of a trace, on the command line."""

import argparse
import sys
from pathlib import Path
from typing import Protocol

from pullstream.trace.file import Trace, TraceError
from pullstream.trace.verdict import judge
from pullstream.trace.view import page_of


class Commands(Protocol):
    """The commands that another one is added to: those of an `ArgumentParser`."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser:
        """Add one."""
        ...


def add_view(commands: Commands) -> None:
    """Add the command to others."""
    view = commands.add_parser(
        "view",
        help="make a page that steps through a trace",
        description="Make a page of a trace, as run(..., trace=PATH) writes it: one file without a network, in which "
        "every step of the run is shown. Prints the model's verdict; a trace that it refuses has a page all the same.",
    )
    view.add_argument("trace", type=Path, help="the file that a traced run has written")
    view.add_argument("-o", "--output", type=Path, help="the page (default: the trace's name with .html)")


def view_trace(given: argparse.Namespace) -> int:
    """Make the page; gives the exit code: 1 if the model refuses the trace, 2 if there is none."""
    path: Path = given.trace
    page: Path = given.output or path.with_suffix(".html")
    if page == path:
        return _refused(f"the page would take the place of the trace, {path}: say another file, -o PAGE")
    try:
        trace = Trace.read(path)
        verdict = judge(trace)
        page.write_text(page_of(trace, path.stem), encoding="utf-8")
    except (OSError, TraceError) as exc:
        return _refused(exc)
    print(f"{page}\n{verdict}")  # noqa: T201 - a command line
    return 0 if verdict.ok else 1


def _refused(why: object) -> int:
    print(f"python -m pullstream view: {why}", file=sys.stderr)  # noqa: T201 - a command line
    return 2
