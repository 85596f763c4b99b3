"""Several sources as one: `concat`, `merge`, `merge_sorted`, `zip`, `combine_latest`, against plain Python."""

import heapq
import itertools
import random
from contextlib import nullcontext
from datetime import date

import pytest
import trio
from hypothesis import given, settings, strategies as st
from trio._core import _run as trio_scheduler

import pullstream as ps
from tests.pullstream.common import Unseen, answer, run, script, until_failure
from tests.sampling import amount
from timely import Product, TimeDomainError


@ps.source
async def pausing(ctx, values, seed):
    pauses = random.Random(seed)
    rest = list(values)
    while rest:
        if pauses.random() < 0.5:
            await trio.sleep(pauses.random())
        # The next ask may have another limit.
        now, rest = rest[: ctx.limit], rest[ctx.limit :]
        yield ps.Batch(0, now)


def first(pair):
    return pair[0]


def each_in_order(merged, values):
    return [[pair for pair in merged if pair[1] == number] for number in range(len(values))] == list(values)


def latest(rows, values):
    """Whether one position advances at a time, from the first of each to the last of each."""
    if not all(values) or not values:
        return rows == []
    positions = [[each.index(pair) for each, pair in zip(values, row, strict=True)] for row in rows]
    steps = [sorted(map(int.__sub__, after, before)) for before, after in itertools.pairwise(positions)]
    return positions[-1] == [len(each) - 1 for each in values] and all(
        step == [*[0] * (len(step) - 1), 1] for step in steps
    )


FAN_INS = {
    "concat": (ps.concat, lambda found, values: found == [*itertools.chain(*values)]),
    "merge": (ps.merge, each_in_order),
    "merge_sorted": (
        lambda *sources: ps.merge_sorted(*sources, key=first),
        lambda found, values: found == [*heapq.merge(*values, key=first)],
    ),
    "zip": (ps.zip, lambda found, values: found == [*zip(*values, strict=False)]),
    "zip, padded": (
        lambda *sources: ps.zip(*sources, mode="padded", fill="x"),
        lambda found, values: found == [*itertools.zip_longest(*values, fillvalue="x")],
    ),
    "combine_latest": (ps.combine_latest, latest),
}
several = st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=4)
quickly = settings(max_examples=amount(30, 200), deadline=None, derandomize=True)
in_any_way = given(several, st.sampled_from([1, 2, 7, 4096]), st.integers(0, 10**6))


def sources_of(values, seed):
    return [pausing(each, seed + number) for number, each in enumerate(values)]


@pytest.mark.parametrize("name", FAN_INS)
@quickly
@in_any_way
def test_results_equal_plain_python(name, values, limit, seed):
    """At every limit, with any pauses. Each value records its source and its place there; sources are sorted."""
    values = [[(value, number, at) for at, value in enumerate(sorted(each))] for number, each in enumerate(values)]
    module, right = FAN_INS[name]
    found = run(ps.pipe(module(*sources_of(values, seed)), ps.collect()), limit, seed=seed)
    assert right(found, values), found


@pytest.mark.parametrize("mode", ["shortest", "strict", "padded"])
@quickly
@given(several, st.integers(0, 15), st.sampled_from([1, 2, 7, 4096]), st.integers(0, 10**6))
def test_zip_ends_or_fails_like_builtin(mode, values, fails, limit, seed):
    """The first source without a next value decides, whichever answers first, and rows before it are whole."""

    def ends_or_fails(number, each):
        yield from each
        if fails >> number & 1:
            raise Unseen(number)

    plain = [ends_or_fails(number, each) for number, each in enumerate(values)]
    expected, seen = [], []
    error = None
    try:
        expected.extend(itertools.zip_longest(*plain) if mode == "padded" else zip(*plain, strict=mode == "strict"))
    except Unseen as failure:
        error = pytest.raises(Unseen, match=rf"^{failure}\b")
    except ValueError:
        error = pytest.raises(ps.errors.LengthError, match=rf"zip.* ended after {len(expected)} values, but source \d")
    sources = [
        ps.concat(source, ps.values(ends_or_fails(number, [])))
        for number, source in enumerate(sources_of(values, seed))
    ]
    with error or nullcontext():
        run(ps.pipe(ps.zip(*sources, mode=mode), ps.drain(seen.append)), limit, seed=seed)
    assert seen == expected


def test_merge_takes_turns():
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


@pytest.mark.usefixtures("schedule")
async def test_aborting_concat_opens_nothing(edge, counting, new_probe, autojump_clock):
    stuck, later, other = probes = [new_probe() for _ in range(3)]
    both = ps.merge(ps.concat(counting(stuck, 1, delay=99), counting(later, 1)), counting(other, 1, delay=99))
    async with edge(both) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(10)
        await reader.abort()
    assert [each.acquired for each in probes] == [1, 0, 1]


@pytest.mark.parametrize(
    ("sources", "key", "given", "error"),
    [
        (([3, 1], [2]), None, [2, 3], r"source 1 gave 1 after 3\. Sort them first, .* or pass key="),
        (([1, 4], [2, 5, 3]), None, [1, 2, 4, 5], "source 2 gave 3 after 5"),
        (([3, 2, 4],), None, [3], "source 1 gave 2 after 3"),
        ((["a", "B"], ["b", "A"]), str.lower, ["a", "B", "b"], "source 2 gave 'A' with the key 'a' after .* key 'b'"),
    ],
)
def test_merge_sorted_refuses_values_that_are_not_in_order(sources, key, given, error, limit):
    merged = ps.merge_sorted(*map(ps.values, sources), key=key)
    words = rf"merge_sorted, composed at .*test_combining_fan_in.*{error}"
    assert until_failure(ps.PullstreamError, merged, match=words, limit=limit, check="strict")[0] == given


# ---- times where streams meet


MEETINGS = {
    **{name: module for name, (module, _) in FAN_INS.items()},
    "join": lambda *both: ps.join(*both, on=lambda _: None),
    "join, left": lambda *both: ps.join(*both, on=lambda _: None, how="left"),
}


def at(*pairs, pause=0.0):
    return script(*(part for time, value in pairs for part in (ps.Batch(time, [value]), pause)))


@pytest.mark.parametrize(
    ("one", "other", "options", "expected"),
    [
        (at((1, "a"), (5, "b")), at((3, "x"), (4, "y")), {}, [(3, ("a", "x")), (5, ("b", "y"))]),
        (at((Product(1, 5), "a")), at((Product(2, 0), "x")), {}, [(Product(2, 5), ("a", "x"))]),
        # The fill value has no time.
        (at((9, "a")), at((1, "x"), (2, "y")), {"mode": "padded"}, [(9, ("a", "x")), (2, (None, "y"))]),
    ],
)
def test_combined_values_are_at_the_least_upper_bound_of_times(one, other, options, expected):
    assert run(ps.pipe(ps.zip(one, other, **options), ps.collect(timed=True))) == expected


@pytest.mark.parametrize("kind", MEETINGS)
@pytest.mark.parametrize("seed", range(5))
async def test_two_domains_are_refused(kind, seed, autojump_clock):
    """Times without a common order fail the module where they meet, by name, and waits for such a time."""
    error = []

    with pytest.raises(
        TimeDomainError, match=rf"{kind.partition(',')[0]}, composed at .*two domains.*(int|date)"
    ) as caught:
        module = MEETINGS[kind](at((1, "v"), (2, "w"), pause=0.5), at((date(2024, 1, 3), "x"), (date(2024, 1, 4), "y")))
        trio_scheduler._r.seed(seed)

        async def wait(progress):
            error.append(await answer(progress.completed, 7))

        async with ps.pipe(module, ps.map(str), ps.collect()).open(limit=1, check="strict") as running:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait, running.progress)
            await running.result()

    assert len(error) == 1
    # If one source follows the other, the wait may see the other's times before the module does.
    assert error == [caught.value] or (kind == "concat" and "date(2024, 1, 3) (date) and 7 (int)" in str(error[0]))
