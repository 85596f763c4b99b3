"""All benchmarks: this toolkit at its defaults, plain Python, and every peer that is installed, side by side.

python -m tests.benchmarks                    # the table; some hours, on a machine with nothing else to do
python -m tests.benchmarks --quick --repeat 1 # a look, in some minutes
python -m tests.benchmarks --plot             # and the page and chart of the docs, and the figures as JSON beside
python -m tests.benchmarks --only W4 growth   # some of it
python -m tests.benchmarks --only tracker     # a study of one thing, alone (--list); what follows -- is for it
python -m tests.benchmarks --whole            # whole programs beside the same by hand; --whole main: the main job alone
"""

import argparse
import subprocess
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
STUDIES = {
    "aborts": ("costs", "an abort through five stages"),
    "checker": ("costs", "a run that is checked"),
    "display": ("costs", "a run that a display looks on"),
    "journal": ("costs", "a run with a journal, and a record of it"),
    "times": ("costs", "a time of one record, through modules that keep times"),
    "trace": ("costs", "a run that is traced"),
    "incremental": ("incremental", "a change of a collection and its load, beside Pathway, and computed anew"),
    "columns": ("columns", "aggregates and windows in columns, beside polars and Arrow"),
    "databases": ("databases", "rows written to tables, beside each driver's own bulk load, and the memory"),
    "spark_keyed": ("spark", "keyed state in Spark's streams"),
    "spark_reading": ("spark", "ways to read a DataFrame: wide, shuffled, slow, on a cluster; what is left in Java"),
    "spark_streaming": ("spark", "a micro-batch of Spark's"),
    "tracker": ("tracker", "the tracker alone"),
}
"""What is measured by files of their own, each against what that thing is to be compared with."""

WARM = {"full": 3.0, "quick": 0.3, "smoke": 0.0}
"""Seconds for the runs of one measurement."""


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="by name: W4, W3 (W3a and W3b), growth")
    parser.add_argument("--toolkits", nargs="+", metavar="NAME", help="these toolkits only")
    parser.add_argument("--repeat", type=int, default=5, help="how often all is measured, in turns (5)")
    parser.add_argument("--quick", dest="pace", action="store_const", const="quick", default="full", help="small sizes")
    parser.add_argument(
        "--smoke", dest="pace", action="store_const", const="smoke", help="tiny sizes: does it all run?"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there")
    parser.add_argument("--read", type=Path, metavar="FILE", help="measure nothing: show what was written there")
    parser.add_argument(
        "--plot", type=Path, nargs="?", const=PAGE, metavar="FOLDER", help="write the page, its chart and its figures"
    )
    parser.add_argument("--list", action="store_true", help="name all that there is")
    return parser.parse_args(arguments)


def chosen(only: list[str]) -> list[Workload]:
    """The workloads that are meant, W3a and W3b by W3; all if nothing is."""
    named = {name: {name, name.rstrip(ascii_lowercase)} for name in WORKLOADS}
    for name in only:
        if name not in (*STUDIES, "growth", *chain.from_iterable(named.values())):
            sys.exit(f"nothing here is called {name}: there are {', '.join((*WORKLOADS, 'growth', *STUDIES))}")
    return [workload for workload in WORKLOADS.values() if not only or named[workload.name] & set(only)]


def measured(results: Results, workloads: list[Workload], toolkits: list[str] | None) -> None:
    """Measure them all, in turns, and tell each way's row as soon as it is whole."""
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
                    row = Row.of(workload, way, workload.size_of(way, results.pace), pairs[name])
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
    """The page, its chart, and what both were made of."""
    folder.mkdir(parents=True, exist_ok=True)
    results.write(folder / "results.json")
    (folder / "README.md").write_text(page(results, WORKLOADS, "chart.svg"))
    if results.rows:
        (folder / "chart.svg").write_text(chart(results, WORKLOADS))
    print(f"written: {folder}")


def listed() -> None:
    """All that there is, by name."""
    for workload in WORKLOADS.values():
        print(f"{workload.name:16} {workload.title}: {', '.join(workload.ways)}")
    for name, growth in CURVES.items():
        print(f"{'growth':16} {name}: {growth.says}")
    for name, (_, says) in STUDIES.items():
        print(f"{name:16} {says}")


def found(given: argparse.Namespace, only: list[str]) -> Results:
    """Measure what is asked for."""
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
    arguments, own = sys.argv[1:], list[str]()
    if arguments[:1] == ["--whole"]:
        from tests.benchmarks.whole.__main__ import main as whole

        return whole(arguments[1:])
    if "--" in arguments:
        at = arguments.index("--")
        arguments, own = arguments[:at], arguments[at + 1 :]
    given = options(arguments)
    only: list[str] = given.only or []
    if given.list:
        listed()
        return 0
    if set(only) & set(STUDIES):
        if len(only) > 1:
            sys.exit("a study is asked for alone")
        file, _ = STUDIES[only[0]]
        study = only if file != only[0] else []
        command = [sys.executable, "-m", f"tests.benchmarks.studies.{file}", *study, *own]
        return subprocess.run(command, cwd=ROOT, check=False).returncode
    if given.read:
        results = Results.read(given.read)
        print(*map(line, results.rows), sep="\n")
    else:
        results = found(given, only)
    print(*targets(results, WORKLOADS.values()), sep="\n")
    if given.json:
        results.write(given.json)
    if given.plot:
        write(results, given.plot)
    for name, why in results.troubles.items():
        print(f"{name}: {why}", file=sys.stderr)
    return 1 if results.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
