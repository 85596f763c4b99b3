"""How what a module costs grows with what it is given: the exponents of processor time and of memory, as a table.

    python -m tests.benchmarks --only modules                             # 10,000 to 1,000,000 values: some ten hours
    python -m tests.benchmarks --only modules -- --sizes 1000 4000 --members 50 200     # some minutes
    python -m tests.benchmarks --only modules -- --only group_by

Every ready module is given more and more values, at one time and at times of their own, with distinct keys and with
few; what joins or deals out is given more and more members, or keys. An exponent of 1 is a cost that follows the
number; above 1.1 it is listed at the end, with the reason. Each measurement has a process of its own: its time is that
process's, its memory the most that it had in use, less than what it began with.
"""

import argparse
import math
import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

import attrs
import trio
from trio.testing import MockClock

import pullstream as ps
from pullstream.conformance.ready import SINKS, TRANSFORMERS
from pullstream.conformance.subject import Subject

SIZES = (10_000, 100_000, 1_000_000)
MEMBERS = (100, 1_000, 10_000)
SECONDS = 120
"""How long one measurement may take before the next sizes of its row are left out."""

STEEP = 1.1
LEAST_SECONDS = 0.05
"""Below this a process's time says more about the machine."""
LEAST_MEGABYTES = 4.0

WHY = {
    "decode": "the kit's row is given texts as long as the value is large",
    "split, blocks": "the kit's row is given texts as long as the value is large",
}
"""For the modules whose cost may grow faster than what they are given, why."""


@ps.source
class Numbers(ps.authoring.Kernel[int]):
    """Numbers up to `count`, or so many different ones again and again; all at one time, or each at its own."""

    def __init__(self, count: int, keys: int, *, timed: bool) -> None:
        self._count = count
        self._keys = keys
        self._timed = timed
        self._next = 0

    async def produce(self, limit: int) -> ps.Batch[int] | ps.authoring.Done:
        begin = self._next
        end = self._next = min(self._count, begin + (1 if self._timed else limit))
        if begin == end:
            return ps.DONE
        return ps.Batch(begin if self._timed else 0, [number % self._keys for number in range(begin, end)])


@attrs.frozen
class Case:
    """A row of the table: what is opened for a number."""

    module: str
    given: str
    make: Callable[[int], ps.Pipeline[Any]]
    members: bool = False


def cases() -> list[Case]:
    """All rows."""
    rows: list[Case] = []
    for subject in (*TRANSFORMERS, *SINKS):
        if not (subject.inputs or subject.resource or subject.timing):
            rows += [
                Case(subject.name, f"{times}, {keys}", passing(subject, times, keys))
                for times in ("one time", "own times")
                for keys in ("distinct", "few")
            ]
    rows += [
        Case("join", "one time, distinct", lambda n: pipeline(joined(n, n, timed=False), drain())),
        Case("join", "own times, distinct", lambda n: pipeline(joined(n, n, timed=True), drain())),
        Case("join", "own times, few", lambda n: pipeline(joined(n, 10, timed=True), drain())),
        Case("tee", "one time", lambda n: pipeline(Numbers(n, n, timed=False), ps.tee(drain(), drain()))),
        Case("tee", "own times", lambda n: pipeline(Numbers(n, n, timed=True), ps.tee(drain(), drain()))),
        Case("merge", "own times", lambda n: pipeline(ps.merge(halves(n), halves(n)), drain())),
        Case("zip", "own times", lambda n: pipeline(ps.zip(halves(n), halves(n)), drain())),
    ]
    ones = {
        "concat": ps.concat,
        "merge": ps.merge,
        "zip": ps.zip,
        "merge_sorted": ps.merge_sorted,
        "combine_latest": ps.combine_latest,
    }
    rows += [Case(name, "members", of_members(join), members=True) for name, join in ones.items()]
    rows += [
        Case("flatten", "members", lambda n: inside(n, ps.flatten()), members=True),
        Case("flatten, side by side", "members", lambda n: inside(n, ps.flatten(concurrency=10)), members=True),
        Case("group_by", "keys", lambda n: keyed(n, ps.group_by(itself, ps.map(str))), members=True),
        Case("group_by a fold", "keys", lambda n: keyed(n, ps.group_by(itself, ps.count_by_key())), members=True),
        Case(
            "group_by, ten at a time",
            "keys",
            lambda n: keyed(n, ps.group_by(itself, ps.map(str), capacity=10)),
            members=True,
        ),
        Case("tee", "members", lambda n: pipeline(ps.values(range(9)), ps.tee(*[drain()] * n)), members=True),
        Case("fork", "members", lambda n: keyed(9, ps.fork(*[ps.map(str)] * n)), members=True),
        Case("maps in a row", "members", lambda n: keyed(9, pipeline(*[ps.prefetch(1)] * min(n, 150))), members=True),
    ]
    return rows


def passing(subject: Subject, times: str, keys: str) -> Callable[[int], ps.Pipeline[Any]]:
    """A pipeline around a row of the kit's."""

    def make(count: int) -> ps.Pipeline[Any]:
        module: Any = subject.make(itself) if subject.around else subject.make()
        ends = isinstance(module, ps.Sink)
        source = Numbers(count, count if keys == "distinct" else 10, timed=times == "own times")
        return pipeline(source, module) if ends else pipeline(source, module, drain())

    return make


def itself(value: Any) -> Any:
    """The key, or the result."""
    return value


def pipeline(*parts: Any) -> Any:
    """Whatever is made of parts."""
    pipe: Any = ps.pipe
    return pipe(*parts)


def drain() -> Any:
    """The sink."""
    sink: Any = ps.drain
    return sink()


def joined(count: int, keys: int, *, timed: bool) -> Any:
    """Two sources, joined by their values."""
    return ps.join(Numbers(count, keys, timed=timed), Numbers(count, keys, timed=timed), on=itself)


def halves(count: int) -> Any:
    """Half of the values."""
    return Numbers(count // 2, count, timed=True)


def of_members(join: Callable[..., Any]) -> Callable[[int], ps.Pipeline[Any]]:
    """So many sources of one value each."""
    return lambda count: pipeline(join(*[ps.once(1)] * count), drain())


def inside(count: int, flatten: Any) -> ps.Pipeline[Any]:
    """So many sources, one after another, inside a stream."""
    return pipeline(ps.values([ps.once(1)] * count), flatten, drain())


def keyed(count: int, module: Any) -> ps.Pipeline[Any]:
    """So many different values."""
    return pipeline(Numbers(count, count, timed=False), module, drain())


# ---- measuring


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(number: int, count: int, answer: Connection) -> None:
    """Run a case; in a process of its own, since memory that was in use once counts for ever."""
    warnings.simplefilter("ignore")
    case = cases()[number]
    before, began = megabytes(), time.process_time()

    async def main() -> None:
        async with case.make(count).open() as running:
            await running.result()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    answer.send((time.process_time() - began, megabytes() - before))


def measured(number: int, count: int, most: float) -> tuple[float, float] | None:
    """Seconds and megabytes; None if it took too long, or failed."""
    # Nothing runs here, and to import everything takes longer than most measurements.
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=measure, args=(number, count, sending), daemon=True)
    process.start()
    sending.close()
    try:
        return receiving.recv() if receiving.poll(most) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()


def exponent(counts: Sequence[int], costs: Sequence[float], least: float) -> float | None:
    """The slope between the last two sizes, of what is above the noise; 0 if nothing is, None if that is unknown."""
    points = [(count, cost) for count, cost in zip(counts, costs, strict=False) if cost > least]
    if not points:
        return 0.0
    if len(points) < 2:
        return None
    (first, low), (last, high) = points[-2:]
    return math.log(high / low) / math.log(last / first)


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--members", type=int, nargs="+", default=MEMBERS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", nargs="+", help="modules whose name begins so")
    options = parser.parse_args()
    steep: list[str] = []
    print(f"{'module':32} {'given':22} {'seconds':>30} {'exponent':>9} {'MB':>8} {'exponent':>9}")
    for number, case in enumerate(cases()):
        if options.only and not case.module.startswith(tuple(options.only)):
            continue
        counts = options.members if case.members else options.sizes
        found: list[tuple[float, float]] = []
        for count in counts:
            result = measured(number, count, options.seconds)
            if result is None:
                break
            found.append(result)
        seconds, memory = [cost for cost, _ in found], [cost for _, cost in found]
        slopes = exponent(counts, seconds, LEAST_SECONDS), exponent(counts, memory, LEAST_MEGABYTES)
        row = " ".join(f"{cost:9.2f}" for cost in seconds) + (" too long" if len(found) < len(counts) else "")
        most = memory[-1] if memory else 0.0
        print(
            f"{case.module:32} {case.given:22} {row:>30} {shown(slopes[0]):>9} {most:8.1f} {shown(slopes[1]):>9}",
            flush=True,
        )
        if len(found) < len(counts) or any(slope is not None and slope > STEEP for slope in slopes):
            steep.append(f"{case.module}, {case.given}: {WHY.get(case.module, 'nobody has said why')}")
    print(f"\nabove {STEEP}, or too long:", *(steep or ["none"]), sep="\n    ")


if __name__ == "__main__":
    main()
