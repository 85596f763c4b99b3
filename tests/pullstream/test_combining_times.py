"""Times where streams meet: least upper bounds, and domains that do not meet; random graphs are in `test_programs`."""

from datetime import date

import pytest
import trio
from trio._core import _run as trio_scheduler

import pullstream as ps
from tests.pullstream.common import run
from timely import Product, TimeDomainError

FAN_INS = {
    "join": lambda *both: ps.join(*both, on=lambda _: None),
    "join, left": lambda *both: ps.join(*both, on=lambda _: None, how="left"),
    "concat": ps.concat,
    "merge": ps.merge,
    "merge_sorted": lambda *both: ps.merge_sorted(*both, key=str),
    "zip": ps.zip,
    "zip, padded": lambda *both: ps.zip(*both, mode="padded"),
    "combine_latest": ps.combine_latest,
}


def collected(source):
    """What comes, with its times."""
    return run(ps.pipe(source, ps.collect(timed=True)))


@ps.source
async def at(ctx, *pairs, pause=0):
    for time, value in pairs:
        if pause and time != pairs[0][0]:
            await trio.sleep(pause)
        yield ps.Batch(time, [value])


class TestTimesOfTuples:
    """A value made of several is at the least upper bound of their times."""

    def test_zip(self):
        """The later of two numbers; both components of products."""
        assert collected(ps.zip(at((1, "a"), (5, "b")), at((3, "x"), (4, "y")))) == [
            (3, ("a", "x")),
            (5, ("b", "y")),
        ]
        assert collected(ps.zip(at((Product(1, 5), "a")), at((Product(2, 0), "x")))) == [(Product(2, 5), ("a", "x"))]

    def test_padded(self):
        """What stands for a missing value has no time."""
        assert collected(ps.zip(at((9, "a")), at((1, "x"), (2, "y")), mode="padded")) == [
            (9, ("a", "x")),
            (2, (None, "y")),
        ]

    def test_times_without_an_upper_bound(self):
        """Times that are incomparable and have no join() are refused, naming the module."""

        class Loose:
            def __init__(self, name):
                self.name = name

            def __le__(self, other):
                return self is other

        with pytest.raises(TimeDomainError, match="join") as caught:
            collected(ps.zip(at((Loose("a"), 1)), at((Loose("b"), 2))))

        assert any("raised in zip" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("kind", FAN_INS)
@pytest.mark.parametrize("seed", range(5))
async def test_two_domains_are_refused(kind, seed, autojump_clock):
    """Times without a common order fail the module where they meet, by name, and whoever waits for one of them."""
    told = []

    with pytest.raises(
        TimeDomainError, match=rf"{kind.partition(',')[0]}, composed at .*two domains.*(int|date)"
    ) as caught:
        module = FAN_INS[kind](at((1, "v"), (2, "w"), pause=0.5), at((date(2024, 1, 3), "x"), (date(2024, 1, 4), "y")))
        trio_scheduler._r.seed(seed)

        async def wait(progress):
            try:
                await progress.completed(7)
            except TimeDomainError as exc:
                told.append(exc)

        async with ps.pipe(module, ps.map(str), ps.collect()).open(limit=1, check="strict") as running:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, running.progress)
            await running.result()

    assert len(told) == 1
    # Where one source follows the other, who waits may see the other's times before the module does.
    assert told == [caught.value] or (kind == "concat" and "date(2024, 1, 3) (date) and 7 (int)" in str(told[0]))
