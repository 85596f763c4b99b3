"""The command `learn`: chapters to read, exercises to do, and a judge of the answers; they are the folder tutorials."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent

LESSONS: Final = HERE / "lessons"
"""The folder that an installed package has tutorials in: at the top of site-packages they might be anybody's."""


def add_learn(commands: Any) -> None:
    """Add the command to those of `python -m pullstream`."""
    parser = commands.add_parser(
        "learn",
        help="chapters to read, exercises to do, and a judge of your answers",
        add_help=False,
        # All that follows is the tutorials' to read, options as well.
        prefix_chars="\0",
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER)


def learn(given: argparse.Namespace) -> int:
    """Run the command: hand over to the tutorials, wherever they are."""
    home = LESSONS if LESSONS.exists() else HERE.parent
    # First, for a folder beside the learner's own files may be called tutorials, too.
    sys.path.insert(0, str(home))
    line: Any = import_module("tutorials.command.line")
    return line.main(given.rest)
