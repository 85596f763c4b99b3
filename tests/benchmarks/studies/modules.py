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
from collections.abc import Callable

import attrs
import trio
from trio.testing import MockClock

import pullstream as ps
from pullstream.conformance.ready import SINKS, TRANSFORMERS
from tests.benchmarks.peers import piped

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

    def __init__(self, count, keys, *, timed):
        self._count = count
        self._keys = keys
        self._timed = timed
        self._next = 0

    async def produce(self, limit):
        begin = self._next
        end = self._next = min(self._count, begin + (1 if self._timed else limit))
        if begin == end:
            return ps.DONE
        return ps.Batch(begin if self._timed else 0, [number % self._keys for number in range(begin, end)])


@attrs.frozen
class Case:
    """A row of the table: the parts of the pipeline for a number; sources are joined, and all are drained."""

    module: str
    given: str
    parts: Callable[[int], tuple]
    members: bool = False

    def pipeline(self, count):
        *parts, last = self.parts(count)
        return piped(*parts, last, *([] if isinstance(last, ps.Sink) else [ps.drain()]))


def itself(value):
    return value


def numbers(count, keys=None, *, timed=False):
    return Numbers(count, keys or count, timed=timed)


def halves(count):
    return numbers(count // 2, count, timed=True)


def passing(subject, times, keys):
    """Put a row of the kit's behind a source."""

    def parts(count):
        module = subject.make(itself) if subject.around else subject.make()
        return numbers(count, count if keys == "distinct" else 10, timed=times == "own times"), module

    return parts


def cases():
    """All rows."""
    rows = [
        Case(subject.name, f"{times}, {keys}", passing(subject, times, keys))
        for subject in (*TRANSFORMERS, *SINKS)
        if not (subject.inputs or subject.resource or subject.timing)
        for times in ("one time", "own times")
        for keys in ("distinct", "few")
    ]

    def joined(count, keys, *, timed):
        return (ps.join(numbers(count, keys, timed=timed), numbers(count, keys, timed=timed), on=itself),)

    rows += [
        Case("join", "one time, distinct", lambda n: joined(n, n, timed=False)),
        Case("join", "own times, distinct", lambda n: joined(n, n, timed=True)),
        Case("join", "own times, few", lambda n: joined(n, 10, timed=True)),
        Case("tee", "one time", lambda n: (numbers(n), ps.tee(ps.drain(), ps.drain()))),
        Case("tee", "own times", lambda n: (numbers(n, timed=True), ps.tee(ps.drain(), ps.drain()))),
        Case("merge", "own times", lambda n: (ps.merge(halves(n), halves(n)),)),
        Case("zip", "own times", lambda n: (ps.zip(halves(n), halves(n)),)),
    ]
    ones = (ps.concat, ps.merge, ps.zip, ps.merge_sorted, ps.combine_latest)
    members = {join.__name__: lambda n, join=join: (join(*[ps.once(1)] * n),) for join in ones}
    members |= {
        "flatten": lambda n: (ps.values([ps.once(1)] * n), ps.flatten()),
        "flatten, side by side": lambda n: (ps.values([ps.once(1)] * n), ps.flatten(concurrency=10)),
        "group_by": lambda n: (numbers(n), ps.group_by(itself, ps.map(str))),
        "group_by a fold": lambda n: (numbers(n), ps.group_by(itself, ps.count_by_key())),
        "group_by, ten at a time": lambda n: (numbers(n), ps.group_by(itself, ps.map(str), capacity=10)),
        "tee": lambda n: (ps.values(range(9)), ps.tee(*[ps.drain()] * n)),
        "fork": lambda n: (numbers(9), ps.fork(*[ps.map(str)] * n)),
        "maps in a row": lambda n: (numbers(9), *[ps.prefetch(1)] * min(n, 150)),
    }
    return rows + [Case(name, "members", parts, members=True) for name, parts in members.items()]


# ---- measuring


def megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(number, count, answer):
    """Run a case; in a process of its own, since memory that was in use once counts for ever."""
    warnings.simplefilter("ignore")
    case = cases()[number]
    before, began = megabytes(), time.process_time()

    async def main():
        async with case.pipeline(count).open() as running:
            await running.result()

    trio.run(main, clock=MockClock(autojump_threshold=0))
    answer.send((time.process_time() - began, megabytes() - before))


def measured(number, count, most):
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


def exponent(counts, costs, least):
    """The slope between the last two sizes, of what is above the noise; 0 if nothing is, None if that is unknown."""
    points = [(count, cost) for count, cost in zip(counts, costs, strict=False) if cost > least]
    if not points:
        return 0.0
    if len(points) < 2:
        return None
    (first, low), (last, high) = points[-2:]
    return math.log(high / low) / math.log(last / first)


def shown(value):
    return "-" if value is None else f"{value:.2f}"


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--members", type=int, nargs="+", default=MEMBERS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--only", nargs="+", help="modules whose name begins so")
    options = parser.parse_args()
    steep = []
    print(f"{'module':32} {'given':22} {'seconds':>30} {'exponent':>9} {'MB':>8} {'exponent':>9}")
    for number, case in enumerate(cases()):
        if options.only and not case.module.startswith(tuple(options.only)):
            continue
        counts = options.members if case.members else options.sizes
        found = []
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
