"""`tee`, `partition` and a side branch: however one of two sinks or the stream ends, the other gets its share.

The conformance grid ends all of them, and `fork`, in more ways.
"""

from itertools import product

import attrs
import pytest
import trio
from trio._core import _run as trio_scheduler

import pullstream as ps
from tests.pullstream.common import Unseen, aside, kept
from tests.sampling import amount

RUNS = [*enumerate((1, 2, 7, 4096) * amount(1, 5))]
"""The seed of trio's scheduler, each another order in which tasks run, and the limit."""


SPLITS = {
    "tee": lambda first, second, key: ps.tee(first, second),
    "tee, with a capacity": lambda first, second, key: ps.tee(first, second, capacity=9),
    "tee in a tee": lambda first, second, key: ps.tee(ps.tee(first, ps.first()), second),
    "partition": lambda first, second, key: ps.partition(key, {0: first, 1: second}),
    "partition, with a capacity": lambda first, second, key: ps.partition(key, {0: first}, other=second, capacity=9),
    "aside": lambda first, second, key: ps.pipe(aside(second, key), first),
}
"""How a stream goes to two sinks: all values to both, or even ones to the first and odd ones to the second."""

WAYS = (
    "end",
    "source fails",
    "key fails",
    "first fails",
    "second fails",
    "first leaves",
    "second leaves",
    "both leave",
    "abort",
)


@attrs.define
class Case:
    """A split, how it ends, and which sink is slow."""

    split: str
    way: str
    slow: int | None
    failure: Unseen = attrs.field(factory=Unseen)
    logs: tuple = attrs.field(factory=lambda: ([], []))

    def share(self, number, count):
        """Those of the first values that one sink is to get."""
        return [n for n in range(count) if "tee" in self.split or n % 2 == number]

    def key(self, n):
        if n == 6 and self.way == "key fails":
            raise self.failure
        return n % 2

    def sink(self):
        """The sinks, one of which may be slow, fail or leave."""
        ends = [
            {"enough": 2} if self.way in {f"{name} leaves", "both leave"} else {"failing": 8 + number}
            if self.way == f"{name} fails" else {}
            for number, name in enumerate(("first", "second"))
        ]  # fmt: skip
        sinks = [
            kept(log, pause=float(number == self.slow), **ends[number]).named(f"sink {number}")
            for number, log in enumerate(self.logs)
        ]
        return SPLITS[self.split](*sinks, self.key)

    def source(self, counting, probe):
        """Values that are many where something else ends the stream."""
        count = {"end": 40, "source fails": 6, "first leaves": 40, "second leaves": 40}.get(self.way, 10_000)
        failure = self.failure if self.way == "source fails" else None
        return counting(probe, count, failure=failure, delay=1 if self.way == "abort" else 0)

    def check(self, outcome, probe):
        """Check what came to each sink, and what the source was told."""
        assert probe.balanced
        assert not probe.listens or probe.ended or probe.reasons == [outcome]
        first, second = logs = [[n for n in log if n != "done"] for log in self.logs]
        done = ["done" in log for log in self.logs]
        assert logs == [self.share(number, 10_000)[: len(log)] for number, log in enumerate(logs)]
        match self.way:
            case "end":
                assert (logs, done) == ([self.share(0, 40), self.share(1, 40)], [True, True])
            case "source fails" | "key fails":
                assert (outcome, done) == (self.failure, [False, False])
                assert logs == [self.share(0, 6), self.share(1, 6)], "what came before the failure"
                assert self.way == "source fails" or any(self.split[:3] in note for note in outcome.__notes__)
            case "first fails" | "second fails":
                number = int(self.way == "second fails")
                assert (type(outcome), done) == (Unseen, [False, False])
                assert logs[number] == self.share(number, 8 + number)
            case "first leaves":
                assert (first, done) == (self.share(0, 10)[:2], [False, True])
                assert self.split == "aside" or second == self.share(1, 40)
            case "second leaves":
                assert (logs, done) == ([self.share(0, 40), self.share(1, 10)[:2]], [True, False])
            case "both leave":
                assert first == self.share(0, 10)[:2]
                assert self.split == "aside" or second == self.share(1, 10)[:2]
                assert not probe.ended
            case "abort":
                assert done == [False, False]


CASES = [
    Case(*cell)
    for cell in product(SPLITS, WAYS, (None, 0, 1))
    if not (cell[0].startswith("tee") and cell[1] == "key fails")
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.split}-{case.way}-{case.slow}")
async def test_every_ending(case, new_probe, counting, autojump_clock):
    """Each sink gets its share, in order; a failure arrives as itself, and only a whole share looks whole."""
    for seed, limit in RUNS:
        trio_scheduler._r.seed(seed)
        case, probe, outcome = Case(case.split, case.way, case.slow), new_probe(), None
        try:
            with trio.fail_after(1000):
                pipeline = ps.pipe(case.source(counting, probe), case.sink())
                async with pipeline.open(limit=limit, check="strict") as running:
                    if case.way == "abort":
                        await trio.sleep(4.5)
                        await running.abort()
                    else:
                        await running.result()
        except Unseen as exc:
            outcome = exc
        case.check(outcome, probe)


@pytest.mark.parametrize("slow", [0, 1])
@pytest.mark.parametrize("split", SPLITS)
async def test_a_time_is_complete_when_both_have_worked_it_off(split, slow, new_probe, counting, autojump_clock):
    """However slow one is, and however far the other may be ahead."""
    for seed, limit in RUNS:
        trio_scheduler._r.seed(seed)
        case = Case(split, "end", slow)
        pipeline = ps.pipe(counting(new_probe(), 12, timed=True), case.sink())
        async with pipeline.open(limit=limit, check="strict") as running:
            for time in range(12):
                await running.progress.completed(time)
                for number, log in enumerate(case.logs):
                    assert log[: len(case.share(number, time + 1))] == case.share(number, time + 1)
            assert time == 11 or "done" not in case.logs[slow]
            await running.result()
