"""Several sources as one: `concat`, `merge`, `merge_sorted`, `zip`, `combine_latest`, against plain Python."""

import heapq
import itertools
import random

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

import pullstream as ps
from tests.pullstream.common import in_virtual_time, run
from tests.sampling import amount

LIMITS = [1, 2, 7, 4096]


@attrs.define
class Watched:
    opened: int = 0
    closed: int = 0
    reasons: list = attrs.field(factory=list)
    asked: int = 0


@ps.source
class Pausing(ps.authoring.Kernel):
    """Values at the times given with them, after random pauses; then the end or a failure."""

    def __init__(self, pairs, seed, watched=None, failure=None, stuck=None):
        self.pairs = list(pairs)
        self.random = random.Random(seed)
        self.watched = watched or Watched()
        self.end = failure
        self.stuck = stuck

    async def acquire(self):
        self.watched.opened += 1

    async def produce(self, limit):
        self.watched.asked += 1
        if self.random.random() < 0.5:
            await trio.sleep(self.random.random())
        if self.stuck is not None and len(self.pairs) <= self.stuck:
            await trio.sleep_forever()
        if not self.pairs:
            if self.end is not None:
                raise self.end
            return ps.DONE
        time = self.pairs[0][0]
        same = list(itertools.takewhile(lambda pair: pair[0] == time, self.pairs[:limit]))
        del self.pairs[: len(same)]
        return ps.Batch(time, [value for _, value in same])

    async def release(self):
        await trio.lowlevel.checkpoint()
        self.watched.closed += 1

    async def dismiss(self, reason):
        self.watched.reasons.append(reason)
        await super().dismiss(reason)


def at_zero(values):
    return [(0, value) for value in values]


def collected(source, limit=4096, seed=0, *, timed=False):
    return run(ps.pipe(source, ps.collect(timed=timed)), limit, seed=seed)


lists = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=4)
several = given(lists, st.sampled_from(LIMITS), st.integers(0, 10**6))
quickly = settings(max_examples=amount(50, 200), deadline=None, derandomize=True)


def pausing(values, seed):
    return [Pausing(at_zero(each), seed + number) for number, each in enumerate(values)]


class TestValues:
    """What comes out is what plain Python gives, at every limit, with any pauses."""

    @quickly
    @several
    def test_concat(self, values, limit, seed):
        """One after another."""
        assert collected(ps.concat(*pausing(values, seed)), limit, seed) == list(itertools.chain(*values))

    @quickly
    @several
    def test_merge(self, values, limit, seed):
        """All of every source, and each source's in its order."""
        named = [[(number, value) for value in each] for number, each in enumerate(values)]

        merged = collected(ps.merge(*pausing(named, seed)), limit, seed)

        assert [[pair for pair in merged if pair[0] == number] for number in range(len(values))] == named

    @quickly
    @several
    def test_merge_sorted(self, values, limit, seed):
        """As heapq.merge does, stable."""
        named = [[(value, number, at) for at, value in enumerate(sorted(each))] for number, each in enumerate(values)]
        key = lambda triple: triple[0]  # noqa: E731

        assert collected(ps.merge_sorted(*pausing(named, seed), key=key), limit, seed) == list(
            heapq.merge(*named, key=key)
        )
        assert collected(ps.merge_sorted(*pausing(map(sorted, values), seed)), limit, seed) == sorted(
            itertools.chain(*values)
        )

    @quickly
    @several
    def test_zip(self, values, limit, seed):
        """As zip and zip_longest do."""
        assert collected(ps.zip(*pausing(values, seed)), limit, seed) == list(zip(*values, strict=False))
        assert collected(ps.zip(*pausing(values, seed), mode="padded", fill="x"), limit, seed) == list(
            itertools.zip_longest(*values, fillvalue="x")
        )

    @quickly
    @several
    def test_zip_strict(self, values, limit, seed):
        """As zip(strict=True) does: what is whole comes first, then it fails, saying which source has more."""
        expected = list(zip(*values, strict=False))
        seen = []
        pipeline = ps.pipe(ps.zip(*pausing(values, seed), mode="strict"), ps.drain(seen.append))

        if len({len(each) for each in values}) > 1:
            with pytest.raises(
                ps.errors.LengthError, match=rf"zip.*has ended after {len(expected)} values, but source \d"
            ):
                run(pipeline, limit, seed=seed)
        else:
            run(pipeline, limit, seed=seed)

        assert seen == expected

    @quickly
    @several
    def test_combine_latest(self, values, limit, seed):
        """One position advances at a time, from the first of each to the last of each."""
        rows = collected(ps.combine_latest(*pausing(map(enumerate, values), seed)), limit, seed)

        if not values or any(not each for each in values):
            assert rows == []
            return
        assert [[at for at, _ in row] for row in rows[-1:]] == [[len(each) - 1 for each in values]]
        for before, after in itertools.pairwise(rows):
            assert sum(a[0] != b[0] for a, b in zip(before, after, strict=True)) == 1
            assert sum(b[0] - a[0] for a, b in zip(before, after, strict=True)) == 1

    def test_merge_takes_turns(self):
        """However long the sink takes, when all have something ready."""

        @ps.sink
        async def slowly(upstream, ctx):
            seen = ""
            while len(seen) < 30:
                seen += (await upstream.ask(1)).values[0]
                await trio.sleep(1)
            return seen

        seen = run(ps.pipe(ps.merge(*[ps.repeat(letter) for letter in "abc"]), slowly()))

        assert {seen[at : at + 3] for at in range(3, 30, 3)} == {seen[3:6]}
        assert sorted(seen[3:6]) == [*"abc"]

    @pytest.mark.parametrize("seed", range(20))
    def test_concat_opens_nothing_when_it_ends(self, seed, edge):
        """The source whose turn would be next is not opened by the end of all."""
        record = [Watched() for _ in range(3)]
        stuck, later, other = (
            Pausing(at_zero([1]), number, each, stuck=1) for number, each in enumerate(record)
        )  # fmt: skip

        async def main():
            async with edge(ps.merge(ps.concat(stuck, later), other)) as reader, trio.open_nursery() as nursery:
                nursery.start_soon(reader.lane().ask)
                await trio.sleep(10)
                await reader.abort()

        in_virtual_time(main, seed=seed)

        assert [each.opened for each in record] == [1, 0, 1]


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize(
    ("sources", "key", "given", "told"),
    [
        (([3, 1], [2]), None, [2, 3], r"source 1 gave 1 after 3\. Sort them first, .* let key= give"),
        (([1, 4], [2, 5, 3]), None, [1, 2, 4, 5], "source 2 gave 3 after 5"),
        (([3, 2, 4],), None, [3], "source 1 gave 2 after 3"),
        ((["a", "B"], ["b", "A"]), str.lower, ["a", "B", "b"], "source 2 gave 'A' with the key 'a' after .* key 'b'"),
    ],
)
def test_merge_sorted_refuses_values_that_are_not_in_order(sources, key, given, told, limit):
    """The values before are given; the message has the module, the source, the value and what to do."""
    seen = []
    with pytest.raises(ps.PullstreamError, match=rf"merge_sorted, composed at .*test_combining_fan_in.*{told}"):
        run(ps.pipe(ps.merge_sorted(*map(ps.values, sources), key=key), ps.drain(seen.append)), limit)
    assert seen == given
