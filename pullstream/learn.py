"""The command `learn`: read chapters, solve exercises and check the answers. The content is in the folder tutorials."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent

LESSONS: Final = HERE / "lessons"
"""The folder of the tutorials in an installed package. At the top of site-packages their name could clash."""


def add_learn(commands: Any) -> None:
    """Add the command to the parser of `python -m pullstream`."""
    parser = commands.add_parser(
        "learn",
        help="read chapters, solve exercises and check your answers",
        add_help=False,
        # The tutorials parse everything that follows, options included.
        prefix_chars="\0",
    )
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    parser.set_defaults(run=learn)


def learn(given: argparse.Namespace) -> int:
    """Run the command: hand over to the tutorials."""
    home = LESSONS if LESSONS.exists() else HERE.parent
    # At the front, because the learner's own folder may also be called tutorials.
    sys.path.insert(0, str(home))
    line: Any = import_module("tutorials.command.line")
    return line.main(given.rest)
