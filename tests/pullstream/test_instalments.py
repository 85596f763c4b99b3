"""Streams in instalments: the results of one run, when they are due and no sooner; endings and refusals."""

import pickle
import random

import pytest
import trio
import trio.lowlevel

import pullstream as ps
from pullstream.authoring import InstalmentPlan, Site, Traits, instalments
from pullstream.conformance.ready import COMBINING, TRANSFORMERS
from tests.pullstream.common import READY, PassesOn, never, totals

END = 10**5


class Ints:
    """Times that a source leaves behind one by one."""

    last = 10**6

    def time(self, tick):
        return tick + 1

    def tick(self, time):
        return time if type(time) is int else None


def plan_of(*transformers):
    return InstalmentPlan(ps.pipe(*transformers).modules, Ints(), "stored", Site.here())


class Stored:
    """A stream that keeps only pickled state between two instalments."""

    def __init__(self, *transformers):
        self.plan = plan_of(*transformers)
        self.ahead = self.plan.ahead()
        self.rows = []
        self.kept = None
        self.due = None
        self.made = 0

    async def feed(self, rows, tick, *, look=False):
        """Take rows, and run to a tick if that is due, or with `look` to check that it was not."""
        for time, _ in rows:
            self._wake_at(self.ahead.from_row(time, tick - 1))
        self.rows = sorted(self.rows + rows, key=lambda row: row[0])
        is_due = self.due is not None and self.due <= tick
        if not (is_due or look):
            return []
        self.made += is_due
        now = [row for row in self.rows if row[0] <= tick]
        later = self.rows[len(now) :]
        async with instalments(self.plan, self.ahead) as here:
            made = await here.make([time for time, _ in now], [value for _, value in now], tick, self.kept)
        answers = [pair for batch in made.answers for pair in pairs(batch)]
        assert is_due or not answers, "it was due before"
        self.rows = [row for row, again in zip(now, made.again, strict=True) if again] + later
        self.kept = pickle.loads(pickle.dumps(made.kept))
        self.due = made.due
        if later:
            self._wake_at(self.ahead.from_row(later[0][0], tick))
        return answers

    def _wake_at(self, due):
        self.due = due if self.due is None else min(self.due, due)


def pairs(batch):
    if not batch.uniform:
        return list(zip(batch.times, batch.values, strict=True))
    return [(batch.time, value) for value in batch.values]


ROWS = {
    "gaps": lambda: ps.sliding(2, 7, ps.agg.count()),
    "coarser": lambda: ps.pipe(ps.map_time(lambda time: time // 7), ps.reduce_by_time(ps.agg.sum())),
    "coarser windows": lambda: ps.pipe(ps.map_time(lambda time: time // 2), ps.tumbling(5, ps.agg.sum())),
    "windows of windows": lambda: ps.pipe(ps.tumbling(5, ps.agg.sum()), ps.tumbling(20)),
    "fork of folds": lambda: ps.fork(ps.tumbling(7, ps.agg.sum()), ps.reduce_by_time(ps.agg.max())),
    "group_by a fold": lambda: ps.group_by(lambda value: value % 2, lambda _: ps.reduce_by_time(ps.agg.sum())),
    "group_by a stream": lambda: ps.fork(ps.group_by(lambda value: value % 2, ps.prefetch(3)), ps.delay(2)),
    "own": totals,
}
REFUSED = {
    **dict.fromkeys(["timeout", "rate_limit"], "depends on the clock"),
    **dict.fromkeys((row.name for row in TRANSFORMERS if row.timing), "depends on the clock"),
    **dict.fromkeys((row.name for row in TRANSFORMERS if row.name.startswith("stamp")), "assigns its own times"),
    "map, failures diverted": "one output",
}
"""Ready-made transformers that cannot be stored, and why."""
INSIDE = {"group_by, one at a time", "worker_pool, as ready", "worker_pool, dynamic"}
"""Modules that keep the count of a `take` inside."""
HANDLES = {"pausable", "abortable", "deferred transformer"}
STORED = {name: make for name, make in READY.items() if name not in REFUSED.keys() | INSIDE | HANDLES} | ROWS
KEEPING = ("accumulate", "scan", "unique", "duplicates", "skip", "take", "several", "fork, with", "own")
"""Prefixes of names of modules that keep state across times."""
UNORDERED = {"fork of folds", "group_by a fold", "group_by a stream", "sliding, eager"} | {
    row.name for row in (*TRANSFORMERS, *COMBINING) if not row.ordered
}
"""Modules whose order of results depends on timing."""


def history(seed):
    """Rows with random times, in order of arrival, and the tick that the source has reached at each step."""
    dice = random.Random(seed)
    steps, tick = [], 0
    for _ in range(dice.randrange(1, 20)):
        rows = [(dice.randrange(tick + 1, tick + 12), dice.randrange(100)) for _ in range(dice.randrange(6))]
        tick += dice.choice([0, 0, 1, 2, 5, 9])
        steps.append((rows, tick))
    return [*steps, ([], END)]


@pytest.mark.sampled(90)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", STORED)
async def test_instalments_match_a_run(name, seed, autojump_clock):
    """Each result comes when it is complete, and none before it is due, whatever the input; nothing is left."""
    transformer = STORED[name]()
    stored, steps, found = Stored(transformer), history(seed), []
    for rows, tick in steps:
        found += await stored.feed(rows, tick, look=True)
    rows = sorted((row for rows, _ in steps for row in rows), key=lambda row: row[0])
    source = ps.values(rows, time=lambda row: row[0])
    alone = await ps.arun(ps.pipe(source, ps.map(lambda row: row[1]), transformer, ps.collect(timed=True)))
    assert (sorted(found, key=repr), None) == (sorted(alone, key=repr), None) if name in UNORDERED else found == alone
    assert stored.rows == []
    assert stored.due is None
    assert stored.kept is None or name.startswith(KEEPING)


async def test_one_run_makes_one_instalment_after_another():
    plan, kept = plan_of(ps.accumulate(ps.agg.count())), None
    with trio.fail_after(5):
        async with instalments(plan, plan.ahead()) as here:
            for tick in range(3):
                made = await here.make([tick], ["value"], tick, kept)
                kept = made.kept
                assert [pair for batch in made.answers for pair in pairs(batch)] == [(tick, tick + 1)]


async def test_no_needless_instalments():
    """An open window waits for its end, whatever the source has reached; sessions wait for the gap."""
    for transformer, ends in ((ps.tumbling(100), [100]), (ps.sessions(40), [43, 63])):
        stored = Stored(transformer)
        woken = []
        for tick in range(150):
            made = stored.made
            await stored.feed([(3, "a"), (23, "b")] if tick == 0 else [], tick)
            woken += [tick] if stored.made > made else []
        # At 99, the source leaves 99 behind and reaches 100.
        assert [tick + 1 for tick in woken if tick > 25] == ends[-1:]
        assert len(woken) <= 3


async def test_a_failure_ends_one_stream_but_not_the_next():
    plan = plan_of(ps.map(lambda value: 6 // value))
    async with instalments(plan, plan.ahead()) as here:
        with pytest.raises(ZeroDivisionError) as caught:
            await here.make([1, 2], [3, 0], 2)
        assert "map" in "".join(caught.value.__notes__)
        made = await here.make([1, 2], [3, 2], 2)
    assert [pair for batch in made.answers for pair in pairs(batch)] == [(1, 2), (2, 3)]


async def test_a_time_that_a_function_refuses_fails_its_module():
    """Nothing is known of it when composing."""
    plan = plan_of(ps.map_time(lambda time: 1 // (time - 2)), ps.reduce_by_time(ps.agg.count()))
    ahead = plan.ahead()
    assert ahead.from_row(2, 0) == 1
    async with instalments(plan, ahead) as here:
        with pytest.raises(ZeroDivisionError):
            await here.make([2], ["a"], 2)


async def test_a_module_that_waits_for_ever_is_a_stall():
    """Waiting before all rows have passed is a stall."""

    @ps.transformer
    async def waiting(upstream, ctx):
        async for batch in ctx.batches(upstream):
            await ctx.memory.get("nothing", Never())(upstream)
            yield batch

    class Never:
        async def __call__(self, upstream):
            await upstream.edge.run.signal().wait()

    with pytest.raises(ps.StalledError):
        await Stored(waiting()).feed([(time, "a") for time in range(1, 100)], 99)


async def test_times_without_rows_are_refused():
    """A result at a time without rows: nothing would bring the module there again."""

    @ps.transformer
    async def in_tens(upstream, ctx):
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time):
                    ctx.notify_at(time // 10 * 10 + 10)
                case ps.Completed(time):
                    yield ps.Batch(time, ["full"])

    @ps.transformer
    async def at_once(upstream, ctx):
        async for batch in ctx.batches(upstream):
            yield ps.Batch(batch.time + 1, batch.values)

    with pytest.raises(ps.errors.JournalError, match=r"in_tens.* holds 10, a time at which no row has.*map_time"):
        await Stored(in_tens()).feed([(3, "a")], 4)
    with pytest.raises(ps.errors.JournalError, match=r"at_once.* answered at 4, a time at which it has received noth"):
        await Stored(at_once()).feed([(3, "a")], 4)


class _Beside(PassesOn):
    traits = Traits(sources=[ps.values([1])])


@pytest.mark.parametrize(
    ("transformer", "why"),
    [*((READY[name], why) for name, why in REFUSED.items()), (ps.transformer(_Beside), "another source")],
    ids=[*REFUSED, "another source"],
)
def test_unstorable_modules_are_refused(transformer, why):
    with pytest.raises(ps.CompositionError, match=rf"^stored\(\) at .*{why}"):
        plan_of(transformer()).ahead()


async def test_a_cancellation_from_outside_ends_it():
    plan = plan_of(ps.map_async(never, concurrency=1))
    with trio.move_on_after(0.05) as scope:
        async with instalments(plan, plan.ahead()) as here:
            await here.make([1], ["a"], 1)
    assert scope.cancelled_caught
