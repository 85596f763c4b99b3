"""What a progress display costs a run that it looks on.

    python -m tests.benchmarks --only display

Ratios of processor time, with the display on a terminal to without, the median over interleaved repeats of runs of a
second or two. On a quiet machine.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

import pullstream as ps
from adapters.display import display

REPEATS = 15


def pipeline(count: int, per_time: int, *between: ps.Transformer[int, int]) -> ps.Pipeline[Any]:
    counted = ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=lambda n: n % 3)
    source: ps.Source[int] = ps.values(range(count), time=lambda n: n // per_time)
    for transformer in between:
        source = ps.pipe(source, transformer)
    return ps.pipe(source, ps.map(lambda n: n + 1), counted, ps.drain())


def compare(name: str, run: Callable[..., object], console: Console) -> None:
    """Print the ratio of the processor time with a display to that without."""
    ratios: list[float] = []
    seconds = 0.0
    for repeat in range(REPEATS):
        times: dict[bool, float] = {}
        for shows in (False, True)[:: 1 if repeat % 2 else -1]:
            start = time.process_time()
            run(beside=display(console=console) if shows else None)
            times[shows] = time.process_time() - start
        ratios.append(times[True] / times[False])
        seconds = times[False]
    low, median, high = (statistics.quantiles(ratios, n=4)[i] for i in range(3))
    print(f"{name:<40} {seconds:5.1f} s x {median:5.3f}   ({low:.3f} to {high:.3f})")


def main() -> None:
    with Path(os.devnull).open("w") as nowhere:
        console = Console(file=nowhere, force_terminal=True, width=100, height=40)
        for name, made in (
            ("synchronous, a time per 100,000 values", pipeline(4_000_000, 100_000)),
            ("a time per 100 values", pipeline(800_000, 100)),
            ("a time per 10 values", pipeline(120_000, 10)),
            ("ten tasks that hand on to each other", pipeline(30_000, 10_000, *[ps.prefetch(10)] * 10)),
        ):

            def run(beside: Any, made: ps.Pipeline[Any] = made) -> object:
                return ps.run(made, beside=beside)

            run(None)
            compare(name, run, console)


if __name__ == "__main__":
    sys.exit(main())
