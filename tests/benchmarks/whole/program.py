"""Whole programs, as users run them, written with this toolkit and by hand, measured in turns in one process."""

import gc
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

HERE = "pullstream"
BY_HAND = "by hand"

CLOCKS = "wall", "processor"

Way = Callable[[Path], Any]
"""Runs the program: it may write into the folder, and returns its answer."""


@attrs.frozen
class Program:
    """A program in several ways, which give the same answer and the same files."""

    name: str
    says: str
    full: int
    quick: int
    prepare: Callable[[int], dict[str, Way]]
    """Prepares a size and returns the ways by name; the last is the baseline. Preparation is not measured."""
    parts: tuple[str, ...] = ()
    """Ways that do only a part of the work. Their answers are not compared."""
    why: str = ""
    """The reason if it costs more than five times the baseline."""


@attrs.frozen
class Spent:
    """The time of one run, in seconds."""

    wall: float
    processor: float
    """Of this process, without Spark's Java."""


def spent(way: Way, folder: Path) -> tuple[Spent, str]:
    """Run a way once; return its time, and a digest of its answer and files."""
    gc.collect()
    wall, processor = time.perf_counter(), time.process_time()
    answer = way(folder)
    took = Spent(time.perf_counter() - wall, time.process_time() - processor)
    digest = hashlib.sha256(repr(answer).replace(str(folder), "").encode())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(folder)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return took, digest.hexdigest()


def measure(program: Program, size: int, repeat: int) -> list[str]:
    """Run the ways in turns, after one round to warm up, and return the lines of the table."""
    ways = program.prepare(size)
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    digests: dict[str, str] = {}
    for turn in range(repeat + 1):
        for name in list(ways)[:: -1 if turn % 2 else 1]:
            with tempfile.TemporaryDirectory() as folder:
                took, digests[name] = spent(ways[name], Path(folder))
            if turn or not repeat:
                found[name].append(took)
        if len({digest for name, digest in digests.items() if name not in program.parts}) > 1:
            raise AssertionError(f"{program.name}: the ways' answers or files differ: {digests}")
    baseline = found[list(ways)[-1]]
    lines = [f"{program.name}, {size:,}: {program.says}"]
    for name, runs in found.items():
        wall, processor = (statistics.median(getattr(run, clock) for run in runs) for clock in CLOCKS)
        pairs = list(zip(runs, baseline, strict=True))
        ratio, busy = (statistics.median(getattr(run, c) / getattr(other, c) for run, other in pairs) for c in CLOCKS)
        part = "   (a part of the work)" * (name in program.parts)
        lines.append(f"  {name:32} {wall:8.3f} s wall x {ratio:6.2f} {processor:8.3f} s processor x {busy:6.2f}{part}")
    if program.why:
        lines.append(f"  above x 5: {program.why}")
    return lines
