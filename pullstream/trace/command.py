"""The command `python -m pullstream view TRACE`: make a page that plays a trace."""

import argparse
from pathlib import Path
from typing import Any

from pullstream.errors import PullstreamError
from pullstream.trace.file import Trace, TraceError
from pullstream.trace.verdict import judge
from pullstream.trace.view import page_of


def add_view(commands: Any) -> None:
    """Add the command to a parser."""
    view = commands.add_parser(
        "view",
        help="make a page that steps through a trace",
        description="Make a page from a trace, as written by run(..., trace=PATH): one file that needs no network and "
        "shows every step of the run. Prints the model's verdict; a trace that the model refuses gets a page, too.",
    )
    view.add_argument("trace", type=Path, help="the file written by a traced run")
    view.add_argument("-o", "--output", type=Path, help="the page (default: the trace's name with .html)")
    view.set_defaults(run=view_trace)


def view_trace(given: argparse.Namespace) -> int:
    """Make the page; return the exit code: 1 if the model refuses the trace."""
    path: Path = given.trace
    page: Path = given.output or path.with_suffix(".html")
    if page.resolve() == path.resolve():
        raise PullstreamError(f"the page would overwrite the trace, {path}: name another file, -o PAGE")
    trace = Trace.read(path)
    try:
        verdict, content = judge(trace), page_of(trace, path.stem)
    except Exception as exc:
        raise TraceError(f"the trace {path} is damaged: {type(exc).__name__}: {exc}. Run the program again") from exc
    page.write_text(content, encoding="utf-8")
    print(f"{page}\n{verdict}")  # noqa: T201 - a command line
    return 0 if verdict.ok else 1
