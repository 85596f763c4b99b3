"""All benchmarks: this toolkit with its defaults, plain Python, and every installed peer, side by side.

python -m tests.benchmarks                    # the table; some hours, on an idle machine
python -m tests.benchmarks --quick --repeat 1 # an overview, in some minutes
python -m tests.benchmarks --plot             # also the page and chart of the docs, and the figures as JSON
python -m tests.benchmarks --only W4 growth   # some workloads
python -m tests.benchmarks --whole            # whole programs, also by hand; --whole main: only the main job
"""

import argparse
import sys
import time
from itertools import chain
from pathlib import Path
from string import ascii_lowercase

from tests.benchmarks.catalogue import WORKLOADS
from tests.benchmarks.chart import chart
from tests.benchmarks.growing import CURVES, grown
from tests.benchmarks.measuring import Failure, Measured, checked
from tests.benchmarks.results import Results, Row
from tests.benchmarks.tables import line, page, targets
from tests.benchmarks.workload import LIMIT, ROOT, Way, Workload

PAGE = ROOT / "tutorials" / "speed"
WARM = {"full": 3.0, "quick": 0.3, "smoke": 0.0}
"""Seconds for the warm runs of one measurement."""


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="by name: W4, W3 (W3a and W3b), growth")
    parser.add_argument("--toolkits", nargs="+", metavar="NAME", help="only these toolkits")
    parser.add_argument("--repeat", type=int, default=5, help="the number of rounds over all measurements (5)")
    parser.add_argument("--quick", dest="pace", action="store_const", const="quick", default="full", help="small sizes")
    parser.add_argument(
        "--smoke", dest="pace", action="store_const", const="smoke", help="tiny sizes: check that everything runs"
    )
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=PAGE, metavar="FOLDER", help="write the page, its chart and its figures"
    )
    parser.add_argument("--whole", nargs="*", metavar="PROGRAM", help="whole programs instead; all, or these")
    parser.add_argument("--list", action="store_true", help="list all workloads and curves")
    return parser.parse_args(arguments)


def chosen(only: list[str]) -> list[Workload]:
    """The named workloads (W3 names W3a and W3b); all if none is named."""
    named = {name: {name, name.rstrip(ascii_lowercase)} for name in WORKLOADS}
    for name in only:
        if name not in ("growth", *chain.from_iterable(named.values())):
            sys.exit(f"there is no workload {name}: there are {', '.join((*WORKLOADS, 'growth'))}")
    return [workload for workload in WORKLOADS.values() if not only or named[workload.name] & set(only)]


def measured(results: Results, workloads: list[Workload], toolkits: list[str] | None) -> None:
    """Measure all workloads in turns, and print each way's row as soon as it is complete."""
    ways = [
        (workload, way)
        for workload in workloads
        for way in workload.ways.values()
        if way.toolkit != LIMIT and way.toolkit in results.versions and (not toolkits or way.toolkit in toolkits)
    ]
    pairs: dict[str, list[tuple[Measured, Measured]]] = {}
    for turn in range(results.repeat):
        for workload, way in ways:
            name = f"{workload.name} {way.name}"
            if name not in results.troubles:
                one_turn(results, workload, way, pairs.setdefault(name, []))
                if turn == results.repeat - 1 and name not in results.troubles:
                    size = workload.size_of(way, results.pace)
                    row = Row(workload.name, way.toolkit, way.variant, way.note, size, pairs[name])
                    results.rows.append(row)
                    print(line(row), flush=True)


def one_turn(results: Results, workload: Workload, way: Way, pairs: list[tuple[Measured, Measured]]) -> None:
    size = workload.size_of(way, results.pace)
    try:
        pairs.append(checked(workload, way.name, size, WARM[results.pace]))
    except Failure as failure:
        results.troubles[f"{workload.name} {way.name}"] = str(failure)
        print(f"{workload.name:5} {way.name:32} NO FIGURE: {failure}", flush=True)


def write(results: Results, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    results.write(folder / "results.json")
    (folder / "README.md").write_text(page(results, WORKLOADS, "chart.svg"))
    if results.rows:
        (folder / "chart.svg").write_text(chart(results, WORKLOADS))
    print(f"written: {folder}")


def whole(given: argparse.Namespace) -> None:
    from tests.benchmarks.whole.flights import MAIN, MAIN_IN_COLUMNS
    from tests.benchmarks.whole.program import measure
    from tests.benchmarks.whole.programs import PROGRAMS as PLAIN
    from tests.benchmarks.whole.sparks import PROGRAMS as SPARKS

    programs = {program.name: program for program in (MAIN, MAIN_IN_COLUMNS, *PLAIN, *SPARKS)}
    for name in given.whole or programs:
        if name not in programs:
            sys.exit(f"there is no program {name}: there are {', '.join(programs)}")
        program = programs[name]
        size = program.full if given.pace == "full" else program.quick
        print(*measure(program, size, given.repeat), sep="\n", flush=True)


def listed() -> None:
    for workload in WORKLOADS.values():
        print(f"{workload.name:16} {workload.title}: {', '.join(workload.ways)}")
    for name, growth in CURVES.items():
        print(f"{'growth':16} {name}: {growth.says}")


def found(given: argparse.Namespace, only: list[str]) -> Results:
    results = Results(given.pace, given.repeat)
    results.looked()
    for toolkit in results.missing:
        print(f"{toolkit} is not installed, and left out")
    began = time.monotonic()
    workloads = chosen(only)
    if given.pace != "full" and not only:
        workloads = [workload for workload in workloads if not workload.spark]
        print("Spark's workloads, whose sessions take minutes to start, are left out: --only W9 measures them")
    measured(results, workloads, given.toolkits)
    if not only or "growth" in only:
        grown(results)
    results.seconds = time.monotonic() - began
    results.looked()
    return results


def main() -> int:
    given = options(sys.argv[1:])
    only: list[str] = given.only or []
    if given.whole is not None:
        whole(given)
        return 0
    if given.list:
        listed()
        return 0
    results = found(given, only)
    print(*targets(results, WORKLOADS.values()), sep="\n")
    if given.plot:
        write(results, given.plot)
    for name, why in results.troubles.items():
        print(f"{name}: {why}", file=sys.stderr)
    return 1 if results.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
