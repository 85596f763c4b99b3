"""`python -m pullstream check [package.module:name ...]`, and `view TRACE`: tools for authors of modules."""

import argparse
import sys
from collections.abc import Sequence

from pullstream.conformance.command import add_check, check_modules
from pullstream.trace.command import add_view, view_trace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit code of the command."""
    parser = argparse.ArgumentParser(prog="python -m pullstream", description="Tools for authors of modules.")
    commands = parser.add_subparsers(dest="command", required=True)
    add_check(commands)
    add_view(commands)
    given = parser.parse_args(arguments)
    return view_trace(given) if given.command == "view" else check_modules(given)


if __name__ == "__main__":
    sys.exit(main())
