"""The command line: the arguments of `python -m pullstream learn`, and its exit code."""

import argparse
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tutorials.command import commands
from tutorials.command.folder import FOLDER, STATE, Folder
from tutorials.command.watching import watch
from tutorials.lesson import until_closed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command of the arguments, and return the exit code."""
    parser = _parser()
    given = parser.parse_args(arguments)
    code = 0
    try:
        with until_closed():
            code = _done(given)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return code


def _done(given: argparse.Namespace) -> int:
    command: Callable[..., int] = watch if given.command == "watch" else getattr(commands, given.command or "where")
    wanted = inspect.signature(command).parameters
    try:
        options = {name: value for name, value in vars(given).items() if name in wanted and name != "folder"}
        if "folder" in wanted:
            options["folder"] = Folder(_path(given))
        return command(**options)
    except (LookupError, OSError) as exc:
        if isinstance(exc, BrokenPipeError):
            raise
        what = exc.args[0] if isinstance(exc, LookupError) else f"{exc.strerror}: {exc.filename}"
        print(f"python -m pullstream learn: {what}", file=sys.stderr)
        return 2


def _path(given: argparse.Namespace) -> Path:
    """Return the learner's folder: the given folder, this one if it has answers, or else `answers` in it."""
    if given.folder is not None:
        return Path(given.folder)
    file = Path(getattr(given, "name", None) or "")
    if file.suffix == ".py" and file.exists():
        return file.parent
    return Path() if Path(STATE).exists() else Path(FOLDER)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m pullstream learn",
        description="Chapters to read, exercises to do, and a judge of your answers. Without a command: your progress.",
        epilog="Exit codes: 0 right, 1 wrong, 2 cannot be done or judged, 3 took too long, 130 Ctrl-C.",
    )
    folder = argparse.ArgumentParser(add_help=False)
    folder.add_argument(
        "--folder", default=argparse.SUPPRESS, help=f"the folder of your answers (default: this folder or {FOLDER})"
    )
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    add = parser.add_subparsers(dest="command", metavar="COMMAND").add_parser
    add("list", parents=[folder], help="chapters, and their exercises with your progress")
    read = add("read", help="a chapter, or one section of it: read 4, read 4.8")
    read.add_argument("what", metavar="N[.P]")
    read.add_argument("--page", action="store_true", help="show it page by page")
    start = add("start", help="a folder for your answers, with a template for each exercise")
    start.add_argument("folder", nargs="?", metavar="FOLDER")
    check = add("check", parents=[folder], help="judge an answer")
    check.add_argument(
        "name", nargs="?", metavar="NAME|FILE", help="an exercise or a file (default: the current exercise)"
    )
    check.add_argument("--all", action="store_true", help="every answer that differs from its template")
    check.add_argument("--json", action="store_true", help="verdicts as JSON, one per line")
    after = add("next", parents=[folder], help="the task of the next exercise: the current one until it is right")
    after.add_argument("--skip", action="store_true", help="skip the current one")
    watch = add("watch", parents=[folder], help="judge whenever a file is saved")
    watch.set_defaults(name=None)
    for name, what in (
        ("hint", "a hint, a clearer one each time"),
        ("trace", "a page that steps through the run in which an answer is wrong"),
        ("reset", "restore the template; your answer is kept beside it"),
        ("solution", "a correct answer, and common mistakes"),
    ):
        command = add(name, parents=[folder], help=what)
        command.add_argument("name", metavar="NAME", nargs="?" if name in {"hint", "trace"} else None)
        if name == "solution":
            command.add_argument("--anyway", action="store_true", help="even before yours is right")
    return parser
