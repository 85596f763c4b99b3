"""The shell command `python -m pullstream`, or `pullstream`, for users, learners and authors of modules."""

import argparse
import os
import sys
from collections.abc import Sequence

from pullstream.conformance.command import add_check, check_modules
from pullstream.doctor import add_doctor, examine
from pullstream.learn import add_learn, learn
from pullstream.new import add_new, make_new
from pullstream.shake.command import add_shake, shake_pipeline
from pullstream.trace.command import add_view, view_trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the command's exit code."""
    parser = argparse.ArgumentParser(prog="pullstream", description="Tools for users, learners and authors of modules.")
    commands = parser.add_subparsers(dest="command", required=True)
    add_check(commands)
    add_shake(commands)
    add_view(commands)
    add_doctor(commands)
    add_learn(commands)
    add_new(commands)
    given = parser.parse_args(arguments)
    command = {
        "check": check_modules,
        "shake": shake_pipeline,
        "view": view_trace,
        "doctor": examine,
        "learn": learn,
        "new": make_new,
    }[given.command]
    try:
        code = command(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # What reads the output, such as `head`, has enough. Python must not write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
