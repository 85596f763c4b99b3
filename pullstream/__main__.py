"""The shell command `python -m pullstream`, or `pullstream`, for users, learners and authors of modules."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from pullstream import __version__
from pullstream.conformance.command import add_check
from pullstream.conformance.places import place_of
from pullstream.doctor import add_doctor
from pullstream.errors import PullstreamError
from pullstream.learn import add_learn
from pullstream.new import add_new
from pullstream.shake.command import add_shake
from pullstream.trace.command import add_view

EXPECTED: Final = (LookupError, TypeError, ValueError, SyntaxError, OSError, PullstreamError)
"""Exceptions whose text tells the user why a command failed. Others come from user code, or are bugs in the toolkit."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the command's exit code: 2 if the command cannot do its work."""
    parser = argparse.ArgumentParser(prog="pullstream", description="Tools for users, learners and authors of modules.")
    parser.add_argument("--version", action="version", version=f"pullstream {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (add_check, add_shake, add_view, add_doctor, add_learn, add_new):
        add(commands)
    given = parser.parse_args(arguments)
    try:
        code: int = given.run(given)
        print(end="", flush=True)  # noqa: T201 - also with a closed output, for which `sys.stdout` is None
    except BrokenPipeError:
        # The reader of the output, such as `head`, has closed it. Python must not write the rest when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as exc:
        why = _why(exc)
        if not why:
            raise
        print(f"python -m pullstream {given.command}: {why}", file=sys.stderr)  # noqa: T201 - a command line
        return 2
    return code


def _why(exc: Exception) -> str:
    """Say what stopped a command, with the line if the user's code raised it; "" for a bug in the toolkit."""
    notes: list[str] = getattr(exc, "__notes__", [])
    if not notes and (place := place_of(exc)) is not None:
        notes = [f"raised at {place}"]
    if not (notes or isinstance(exc, EXPECTED)):
        return ""
    says_it = isinstance(exc, (PullstreamError, OSError)) or (type(exc) in EXPECTED and not notes)
    return "\n  ".join([str(exc) if says_it else f"{type(exc).__name__}: {exc}", *notes])


if __name__ == "__main__":
    sys.exit(main())
