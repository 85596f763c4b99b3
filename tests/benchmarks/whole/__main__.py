"""Measure whole programs: `python -m tests.benchmarks --whole [PROGRAM ...] [--quick] [--repeat N]`."""

import argparse
import sys

from tests.benchmarks.whole.flights import MAIN, MAIN_IN_COLUMNS
from tests.benchmarks.whole.program import measure
from tests.benchmarks.whole.programs import PROGRAMS as PLAIN
from tests.benchmarks.whole.sparks import PROGRAMS as SPARKS

PROGRAMS = {program.name: program for program in (MAIN, MAIN_IN_COLUMNS, *PLAIN, *SPARKS)}


def main(arguments: list[str] | None = None) -> int:
    """Measure the programs that the command line names; all of them if it names none."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks --whole", description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--quick", action="store_true", help="measure small sizes")
    parser.add_argument("--repeat", type=int, default=5, help="rounds after the one that warms up (5)")
    given = parser.parse_args(arguments)
    for name in given.programs:
        if name not in PROGRAMS:
            parser.error(f"There is no program {name}. Choose from {', '.join(PROGRAMS)}.")
    for name, program in PROGRAMS.items():
        if name in given.programs or not given.programs:
            size = program.quick if given.quick else program.full
            print(*measure(program, size, given.repeat), sep="\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
