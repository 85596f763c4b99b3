"""State that modules keep across times: its versions, what is saved, and what is refused."""

import math
import pickle
import random
from contextlib import ExitStack
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import partial

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream import agg
from pullstream.authoring import PassOn, Traits
from pullstream.incremental import maintain
from pullstream.resuming.memory import Ledger, Memory
from pullstream.timely import Delay
from tests.pullstream.journal.test_resume import check, run_until, stopping_at, storing


class Tea(StrEnum):
    TEA = "tea"


def unpickled(changes):
    """Changes as they were before they were pickled."""
    return {pickle.loads(key): value and pickle.loads(value) for key, value in changes.items()}


def up_to(time):
    return lambda other: other <= time


def test_unpicklable_state_is_named():
    memory = Memory(saves=True)
    memory.at(1)["f"] = lambda: None
    with pytest.raises(
        ps.errors.JournalError, match=r"lambda.*function\) cannot be written to a journal.*beyond its time"
    ):
        memory.at(2)


def test_few_of_many_times_are_tested_for_a_record():
    # With a test for each time, the records of a fast stream grew longer and rarer without end.
    memory, tested = Memory(saves=True), []
    for time in range(1001):
        memory.at(time)["last"] = time
    taken = memory.take(lambda time: tested.append(time) or time < 700)
    assert (unpickled(taken), len(tested) < 20) == ({"last": 699}, True)
    assert unpickled(memory.take(up_to(1000))) == {"last": 1000}


@pytest.mark.parametrize("kind", [Memory, Ledger])
def test_dict_operations_are_saved(kind):
    memory = Memory(saves=True).at(1) if kind is Memory else Ledger()
    memory |= {"a": 1}
    memory.update(b=2)
    assert memory.setdefault("c", 3) == memory.pop("c")
    take = partial(memory.take, up_to(1)) if kind is Memory else memory.take
    assert len(take()) == 3
    for made in (memory.copy(), memory | {}, {} | memory, memory | memory):
        assert type(made) is dict
        assert made == memory == {"a": 1, "b": 2}
    assert not take()


def test_a_state_may_contain_itself():
    memory, tree = Memory(saves=True), {1.5: {}}
    tree[1.5]["parent"] = tree
    memory.at(0)["tree"] = tree
    (saved,) = memory.take(up_to(0)).values()
    copy = pickle.loads(saved)
    assert copy[1.5]["parent"] is copy


def word():
    """An equal string, but a new object each time."""
    return b"tea".decode()


SAME = word()
EQUAL = {
    "numbers": (1, 1.0, True, Decimal(1), Fraction(1)),
    "others first": (1.0, 1, True),
    "words": (Tea.TEA, "tea", word()),
    "tuples": ((SAME, SAME), (SAME, word()), (word(), word())),
    "nested": ((0, (1, SAME, SAME)), (0, (1.0, SAME, word())), (0, (True, word(), word()))),
    "sets": (frozenset({8, 0}), frozenset([0, 8]), frozenset({0, 8, 16} - {16})),
}


@pytest.mark.parametrize("keys", EQUAL.values(), ids=EQUAL)
def test_equal_keys_are_saved_as_one(keys):
    assert len(set(keys)) == 1
    for seed in range(30):
        rnd = random.Random(seed)
        saved, now = {}, {}
        for _ in range(4):
            memory, ledger = Memory(saves=True), Ledger()
            memory.restore(saved, saved, pickle.loads)
            ledger.begin(saved, pickle.loads)
            for time in range(4):
                for _ in range(rnd.randrange(3)):
                    key, value = rnd.choice(keys), rnd.random()
                    for kept in (now, memory.at(time), ledger):
                        kept[key] = value
                        if value < 0.3:
                            del kept[key]
                changes, same = memory.take(up_to(time)), ledger.take()
                for changed in (changes, same):
                    after = {**saved, **changed}
                    after = {name: value for name, value in after.items() if value is not None}
                    assert [*unpickled(after).items()] == [*now.items()], seed
                saved = after


@pytest.mark.parametrize("module", [ps.scan(agg.sum()), ps.unique(), ps.skip(3)], ids=str)
def test_a_state_over_times_out_of_order_ends_the_run(path, module):
    """A fold in order of arrival needs its values in the order of their times."""
    late = ps.stamp(lambda n: n, lateness=5)
    with pytest.raises(ps.errors.JournalError, match=r"2 arrived after 3.*sort_by_time"):
        ps.run(ps.pipe(ps.values([1, 3, 2]), late, module, ps.drain()), journal=path)
    sorted_ = ps.pipe(ps.values([1, 3, 2]), late, ps.sort_by_time(), module, ps.drain())
    ps.run(sorted_, journal=path.with_name("sorted"))


class Plain:
    """Equals only itself."""


KEYED = [
    ps.unique(),
    ps.unique(capacity=9),
    ps.scan(lambda seen, value: seen | {value}, frozenset()),
    ps.scan(lambda seen, value: {**seen, 0: {value: 1}}, {}),
    ps.accumulate(agg.several(n=agg.count(), unique=agg.count_unique())),
    ps.sessions(2, agg.count_unique(), key=lambda _: 0),
    ps.sessions(1, key=lambda value: value),
    ps.accumulate(agg.count(), key=lambda value: value),
    ps.pipe(ps.map(lambda value: (value, 1)), maintain(lambda values: values.count())),
    ps.pipe(ps.map(lambda value: ((0, value), 1)), maintain(lambda pairs: pairs.join(pairs))),
]


@pytest.mark.parametrize("module", KEYED, ids=str)
def test_a_key_that_does_not_equal_its_copy_is_refused(module, path):
    """The next run would not find it, and take an equal value for a new one. So is such a key in a saved state."""
    for number, key in enumerate([math.nan, ("a", Decimal("nan")), Plain()]):
        source = ps.pipe(ps.values([1, 2], time=int), ps.map(lambda _, key=key: key))
        ps.run(ps.pipe(source, module, ps.drain()))
        with pytest.raises(ps.errors.JournalError, match=r"(nan|NaN|Plain).* does not equal it; .*keeps it beyond"):
            ps.run(ps.pipe(source, module, ps.drain()), journal=path.with_name(f"{number}"))


def test_a_list_is_saved_after_the_first_value_of_a_scan(path):
    """It is already the state, although the scan may still find that it was changed in place."""
    states = {}
    for stop, times in ((1, 1), (None, 3)):
        listed = ps.map(stopping_at(stop)), ps.scan(lambda seen, n: [*seen, n], [])
        run_until(storing(states, *listed, source=ps.values(range(3), time=abs)), path, limit=1)
        assert states == {n: [[*range(n + 1)]] for n in range(times)}


def counted(memory, batch):
    """Count the values so far, with a time for the first change only."""
    if not memory:
        memory.at(batch.time)
    memory["n"] = memory.get("n", 0) + len(batch.values)
    return ps.Batch(batch.time, [memory["n"]])


@ps.transformer
async def counting(upstream, ctx, *, events):
    async for event in ctx.events(upstream) if events else ctx.batches(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)
            yield counted(ctx.memory, event)


@ps.transformer
async def asking(upstream, ctx):
    """Do the same without an iterator."""
    while (batch := await upstream.ask(ctx.limit)) is not ps.DONE:
        yield counted(ctx.memory, batch)


@ps.transformer
class Counting(ps.authoring.Kernel):
    """Do the same in a kernel."""

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        return batch if batch is ps.DONE else counted(self.memory, batch)


@pytest.mark.parametrize("module", [counting(events=True), counting(events=False), asking(), Counting()], ids=str)
def test_a_change_without_its_time_is_refused(path, module):
    """It would be saved as of the time before."""
    out = []
    pipeline = ps.pipe(ps.values([0, 0, 1], time=int), module, ps.drain(out.append))
    with pytest.raises(ps.errors.JournalError, match=r"outside of a time: write memory\.at\(time\)\[key\]"):
        ps.run(pipeline, journal=path, limit=1)
    assert out == [1, 2]


def test_each_time_of_a_multi_time_batch_may_change_the_memory(path):
    @ps.sink
    async def counting_runs(upstream, ctx):
        async for batch in ctx.batches(upstream, many=True):
            for run in batch.runs():
                memory = ctx.memory.at(run.time)
                memory[run.time] = memory.get(run.time, 0) + len(run.values)
        return dict(ctx.memory)

    pipeline = ps.pipe(ps.values(range(8), time=lambda n: n // 2), counting_runs())
    assert ps.run(pipeline, journal=path, limit=3) == dict.fromkeys(range(4), 2)


@ps.sink
async def counting_apart(upstream, ctx):
    """Read in one task and count in another."""
    send, receive = trio.open_memory_channel(2)

    async def read():
        async with send:
            async for batch in ctx.batches(upstream):
                held = ExitStack()
                held.enter_context(ctx.hold(batch.time))
                await send.send((batch, held))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        async for batch, held in receive:
            with held:
                memory = ctx.memory.at(batch.time)
                await trio.testing.wait_all_tasks_blocked()
                memory["n"] = memory.get("n", 0) + len(batch.values)
    return dict(ctx.memory)


def test_one_task_may_read_ahead_of_the_one_that_changes_the_memory(path):
    pipeline = ps.pipe(ps.values(range(5), time=int), counting_apart())
    assert ps.run(pipeline, journal=path, limit=1) == {"n": 5}


@pytest.mark.parametrize("key", [None, type])
def test_state_is_saved_before_the_next_time_changes_it(path, key):
    results = {}

    def store(time, values):
        results[check(time)] = values

    def appended(seen, n):
        seen.append(n)
        return seen

    for stop, times in ((1, 1), (None, 3)):
        stopping_at(stop)
        listing = ps.accumulate(ps.Fold(list, appended, list), key=key)
        run_until(ps.pipe(ps.values(range(3), time=abs), listing, ps.at_completion(store)), path)
        expected = {n: [*range(n + 1)] for n in range(times)}
        assert results == {n: [seen if key is None else (int, seen)] for n, seen in expected.items()}


@pytest.mark.parametrize(
    "source",
    [
        ps.merge(ps.values("ab"), ps.values("cd")),
        ps.pipe(ps.values("ab"), ps.map_async(trio.sleep, 2, ordered=False)),
        ps.join(ps.values("ab"), ps.values("ab"), on=str),
        ps.pipe(ps.values("ab"), ps.debounce(1), ps.map(str)),
    ],
    ids=str,
)
def test_epochs_over_an_unrepeatable_order_are_refused(path, source):
    """Epochs by count are not repeatable where the order may vary."""
    with pytest.raises(ps.errors.JournalError, match="stamp_epochs.*by the order in which values arrive"):
        ps.run(ps.pipe(source, ps.stamp_epochs(2), ps.drain()), journal=path)


def test_a_state_inside_another_module_is_refused(path):
    """Also a user's own module, whose state no journal could save; a stream opened for one value may keep state."""

    @ps.transformer
    async def remembering(upstream, ctx):
        memory = ctx.memory
        async for batch in ctx.batches(upstream):
            memory.at(batch.time)["n"] = memory.get("n", 0) + 1
            yield batch

    @ps.transformer
    class Later(PassOn):
        traits = Traits(summaries=[(Delay(1), Delay(2))])

        def answer(self, batch):
            raise NotImplementedError

    for name, module in (
        ("remembering", remembering()),
        ("Later", Later()),
        ("scan", ps.scan(agg.sum())),
        ("delay", ps.delay(1)),
        ("tumbling", ps.tumbling(2)),
        ("sliding", lambda _: ps.sliding(4, 2)),
        ("map_time", ps.map_time(lambda time: time + 1)),
    ):
        with pytest.raises(ps.errors.JournalError, match=f"{name}.*inside another module.*take key=f in"):
            ps.run(ps.pipe(ps.values([1]), ps.group_by(str, module), ps.drain()), journal=path.with_name(name))
    each = ps.flat_map(lambda n: ps.pipe(ps.values(range(n)), ps.scan(agg.sum())))
    assert ps.run(ps.pipe(ps.values([3, 2]), each, ps.collect()), journal=path.with_name("each")) == [0, 1, 3, 0, 1]


class Undeclared(ps.authoring.Kernel):
    """Emits the total so far, from a memory that its traits say nothing about."""

    async def produce(self, limit):
        batch = await self.upstream.ask(1)
        if batch is ps.DONE:
            return ps.DONE
        memory = self.memory.at(batch.time)
        memory["total"] = memory.get("total", 0) + batch.values[0]
        return ps.Batch(batch.time, [memory["total"]])


class TraitsOfItsOwn(ps.authoring.Notified):
    """The same per complete time, with traits that replace those of its base class."""

    traits = ps.authoring.Traits(carries=ps.authoring.Carries.MEMORY)

    def receive(self, batch):
        for run in self.apart(batch):
            self.notify(run.time, run.time)
            memory = self.memory.at(run.time)
            memory["total"] = memory.get("total", 0) + sum(run.values)

    def complete(self, time):
        self.give(time, [self.memory["total"]])


class Ahead(ps.authoring.Notified, ps.authoring.Resumable):
    """The sum of every two times, at the time after them: its traits do not say so, but it restores them."""

    def receive(self, batch):
        for run in self.apart(batch):
            end = run.time + 2 - run.time % 2
            sums = self.memory.at(run.time)
            if end not in sums:
                self.notify(end, end, before=True)
            sums[end] = sums.get(end, 0) + sum(run.values)

    def complete(self, time):
        self.give(time, [self.memory[time]])

    def restore(self):
        for end in self.memory:
            self.notify(end, end, before=True)


@pytest.mark.parametrize("stop", range(2, 10))
def test_a_module_restores_what_it_answers_later(path, stop):
    out, source = {}, ps.values([*range(8), 20], time=abs)
    for stops in (stop, None):
        run_until(storing(out, ps.map(stopping_at(stops)), ps.transformer(Ahead)(), source=source), path, limit=1)
    assert out == {2: [1], 4: [5], 6: [9], 8: [13], 22: [20]}


@pytest.mark.parametrize("module", [Undeclared, TraitsOfItsOwn])
def test_a_memory_counts_no_time_twice_when_a_sink_is_behind(path, module):
    """Whatever its class declares, the time is repeated for the other sink, but not for the memory."""
    totals, ahead = {}, trio.Event()

    def keep(time, values):
        totals[time] = values
        if time == 4:
            ahead.set()

    async def fail_once(time, values):
        if time == 2 and not ahead.is_set():
            await ahead.wait()
            raise OSError("disk full")

    numbers = ps.values(range(1, 9), time=lambda n: n)
    at_the_end = ps.tap(lambda _: None, on_end=lambda _: ahead.set())
    one = ps.pipe(ps.transformer(module)(), at_the_end, ps.at_completion(keep))
    job = ps.pipe(numbers, ps.tee(one, ps.at_completion(fail_once), capacity=3))
    with pytest.raises(OSError, match="disk full"):
        ps.run(job, journal=path, limit=1)
    ps.run(job, journal=path, limit=1)
    assert totals == {n: [n * (n + 1) // 2] for n in range(1, 9)}
