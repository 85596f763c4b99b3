"""What a slip of the pen is answered with: the module, what was wrong, and what to write instead."""

import asyncio
import math
import operator
import time
import traceback
from datetime import UTC, datetime, timedelta

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream import files
from pullstream.authoring import Notified
from timely import TimelyError


async def half(n):
    return n / 2


def some():
    yield 1


async def nothing_taken():
    yield 1


async def without_ctx(upstream):
    yield upstream


async def turned(ctx, upstream):
    yield ctx, upstream


def refused(compose):
    with pytest.raises(ps.PullstreamError) as caught:
        compose()
    return str(caught.value)


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (lambda: ps.map(half), ["map() at", __file__, "half", "map_async"]),
        (lambda: ps.filter(half), ["filter() at", "half", "map_async"]),
        (lambda: ps.values(half(1).__await__ and 5), ["values() at", "needs an iterable", "5"]),
        (lambda: ps.pipe([ps.values([1]), ps.collect()]), ["part 1 of pipe() at", "pipe(*parts)"]),
        (lambda: ps.pipe([1, 2], ps.collect()), ["part 1 of pipe() at", "[1, 2]", "values(...)"]),
        (lambda: ps.pipe(some(), ps.collect()), ["part 1 of pipe() at", "values(...)"]),
        (lambda: ps.pipe(nothing_taken(), ps.collect()), ["part 1 of pipe() at", "from_async_iterable(...)"]),
        (lambda: ps.tee([ps.collect(), ps.drain()]), ["tee() at", "tee(*parts)"]),
        (lambda: ps.tee(ps.collect, ps.drain), ["tee() at", "collect()"]),
        (lambda: ps.fork(ps.unique), ["fork() at", "unique()"]),
        (lambda: ps.partition(str, {"a": ps.collect}), ["partition() at", "collect()"]),
        (lambda: ps.iterate([1, 2]), ["iterate() at", "values(...)"]),
        (lambda: ps.iterate(ps.pipe(ps.values([1]), ps.collect())), ["iterate() at", "leave out its sink"]),
        (lambda: ps.aggregate(n=ps.agg.count), ["aggregate(n=...) at", "agg.count()"]),
        (lambda: ps.transformer(turned), ["@transformer at", "swap its first two arguments", "turned"]),
        (lambda: ps.source(half), ["@source", "one with a yield"]),
        (lambda: ps.run(ps.values([1])), ["run() at", "has no sink: add one"]),
        (lambda: ps.values(some), ["values() at", "Call it: values(some())"]),
        (lambda: ps.source(some), ["@source at", "write async def some", "values(some())"]),
        (lambda: ps.source(nothing_taken), ["@source at", "calls with (ctx, ...)", "nothing_taken()"]),
        (lambda: ps.transformer(without_ctx), ["@transformer at", "(upstream, ctx, ...)", "without_ctx(upstream)"]),
        (lambda: ps.sink(half), ["@sink at", "(upstream, ctx, ...)", "half(n)", "async def half(upstream, ctx, n)"]),
        (lambda: ps.transformer(half), ["@transformer at", "no yield"]),
        (lambda: ps.sink(nothing_taken), ["@sink at", "has no yield"]),
        (lambda: ps.merge([ps.values([1])]), ["merge() at", "one by one, merge(*sources)"]),
        (lambda: ps.Fold(3, half), ["Fold() at", "initial", "3"]),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine 'half' was never awaited")
def test_composition(compose, words):
    """A wrong composition is refused when composing, with a hint."""
    message = refused(compose)

    assert [word for word in words if word not in message] == []


def test_async_iterables_are_sent_to_the_decorator():
    """An async generator is no iterable, and the error says where it goes."""

    async def numbers():
        yield 1

    assert "@ps.source" in refused(lambda: ps.values(numbers()))


def test_a_value_without_a_time_is_refused():
    """None is no time: it compares with nothing."""
    with pytest.raises(TypeError, match="'b' has no time") as caught:
        ps.run(ps.pipe(ps.values("ab", time={"a": 1}.get), ps.collect()))

    assert "raised in values" in caught.value.__notes__[0]


def test_map_async_says_what_it_got():
    """A function that returns something that cannot be awaited belongs into map."""
    with pytest.raises(TypeError, match="Use map"):
        ps.run(ps.pipe(ps.values([1]), ps.map_async(str, 2), ps.collect()))


async def test_run_inside_trio():
    """run() starts a trio program; inside one the error says what to write."""
    with pytest.raises(ps.PullstreamError, match="async with"):
        ps.run(ps.pipe(ps.empty(), ps.collect()))


async def test_a_running_is_entered_once():
    """Another run is another open()."""
    async with ps.pipe(ps.values([1]), ps.collect()).open() as running:
        with pytest.raises(ps.errors.ReuseError, match="open"):
            await running.__aenter__()
        assert await running.result() == [1]


def test_a_reader_is_not_iterated():
    """`async for` over what is upstream is answered with what to write instead."""

    @ps.transformer
    async def copied(upstream, ctx):
        async for batch in upstream:
            yield batch

    with pytest.raises(TypeError, match=r"ctx\.batches\(upstream\)"):
        ps.run(ps.pipe(ps.values("ab"), copied(), ps.collect()))


def test_code_of_asyncio_is_sent_where_it_runs():
    """What asyncio says when trio awaits it is explained in a note."""
    for seconds in (0, 0.001):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            ps.run(ps.pipe(ps.once(seconds), ps.map_async(asyncio.sleep, 2), ps.drain()))
        assert "map_async(asyncio_call(f), concurrency)" in caught.value.__notes__[0]
        ps.run(ps.pipe(ps.once(seconds), ps.map_async(ps.asyncio_call(asyncio.sleep), 2), ps.drain()))


@pytest.mark.parametrize(
    ("module", "value", "words"),
    [(ps.split(), 3, "text or bytes"), (ps.split(size=2), [1], "text or bytes"), (ps.decode(), "a", "already text")],
)
def test_what_is_neither_text_nor_bytes_is_named(module, value, words):
    """The module says what it takes, and what it got."""
    with pytest.raises(TypeError, match=words):
        ps.run(ps.pipe(ps.once(value), module, ps.drain()))


def test_a_full_pushable_says_so():
    """An exception of trio's that has no words of its own."""
    source = ps.pushable(1)
    source.push_nowait("a")
    with pytest.raises(trio.WouldBlock, match=r"await push\(\)"):
        source.push_nowait("b")


@pytest.mark.parametrize(
    ("blueprint", "words"),
    [
        (ps.values([1]), ["ps.run(ps.pipe(values([1]), ps.collect()))", "ps.iterate(values([1]))"]),
        (ps.map(str), ["is a transformer"]),
        (ps.collect(), ["is a sink"]),
        (ps.pipe(ps.values([1]), ps.collect()), ["ps.run(pipe(values([1]), collect()))"]),
    ],
)
def test_what_is_iterated_says_how_it_is_run(blueprint, words):
    """A source is run, or read one by one; a pipeline is run as it is; the others are parts of one."""
    with pytest.raises(TypeError) as caught:
        list(blueprint)
    assert all(word in str(caught.value) for word in words)


def test_a_pipeline_opened_without_trio_says_what_to_call():
    """Under asyncio, the block says which functions work there."""

    async def opened():
        async with ps.pipe(ps.values([1]), ps.collect()).open():
            pass

    with pytest.raises(ps.PullstreamError, match=r"trio program.* run\(pipeline\).* iterate\(source\)"):
        asyncio.run(opened())


@pytest.mark.parametrize(
    "call",
    [
        lambda orders: orders.push_nowait("tea"),
        lambda orders: orders.end(),
        lambda orders: orders.fail(ValueError()),
        lambda orders: orders.advance(1),
        lambda orders: asyncio.run(orders.push("tea")),
        lambda orders: asyncio.run(orders.push_many(["tea"])),
    ],
)
async def test_a_pushable_in_another_thread_says_what_to_do(call):
    """The thread is told at once, and the stream goes on."""
    orders = ps.pushable(3)
    async with ps.pipe(orders, ps.collect()).open() as running:
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ps.PullstreamError, match=r"pushable, made at .*from_thread.*from_callback"):
            await trio.to_thread.run_sync(call, orders)
        await trio.to_thread.run_sync(trio.from_thread.run, orders.push, "rice")
        orders.end()
        assert await running.result() == ["rice"]


class FailsToRelease(ps.authoring.Kernel[int]):
    async def produce(self, limit):
        return await self.upstream.ask(limit)

    async def release(self):
        raise ValueError("release")


class ReleasesWithoutAsync(FailsToRelease):
    def release(self):
        pass


class FailsUnderWay(FailsToRelease):
    async def produce(self, limit):
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("under way")

    async def release(self):
        pass


async def later(value):
    """By then everything else is under way."""
    await trio.sleep(0.01)
    return value


async def fails_at_last(upstream, ctx):
    try:
        async for batch in ctx.batches(upstream):
            yield batch
    finally:
        raise ValueError("finally")


async def goes_on(upstream, ctx):
    try:
        async for batch in ctx.batches(upstream):
            yield batch
    except GeneratorExit:
        yield None


@pytest.mark.parametrize(
    ("made", "wrapped"),
    [
        (FailsToRelease, lambda bad: ps.pipe(bad, ps.take(1))),
        (FailsToRelease, lambda bad: bad),
        (ReleasesWithoutAsync, lambda bad: ps.pipe(bad, ps.take(1))),
        (ReleasesWithoutAsync, lambda bad: bad),
        (fails_at_last, lambda bad: ps.pipe(bad, ps.take(1))),
        (fails_at_last, lambda bad: ps.pipe(ps.values([bad]), ps.flatten(), ps.take(1))),
        (goes_on, lambda bad: ps.pipe(bad, ps.take(1))),
        (
            FailsUnderWay,
            lambda bad: ps.pipe(ps.merge(bad, ps.pipe(ps.values([1]), ps.map_async(later, 1))), ps.take(1)),
        ),
    ],
)
def test_what_a_release_raises_names_its_module_once(made, wrapped):
    """Whoever ends the stream, and through modules around it."""
    bad = ps.pipe(ps.values([1, 2]), ps.transformer(made)(), ps.map(str))
    with pytest.raises((ValueError, TypeError, RuntimeError)) as caught:
        ps.run(ps.pipe(wrapped(bad), ps.collect()))

    (note,) = caught.value.__notes__
    assert note.startswith(f"raised in {made.__name__}, composed at {__file__}")


RECORDS = [{"price": 1}, {"cost": 2}]


async def price_of(record):
    return record["price"]


@pytest.mark.parametrize(
    "modules",
    [
        (ps.map(lambda record: record["price"]), ps.drain()),
        (ps.map(operator.itemgetter("price")), ps.drain()),
        (ps.filter(lambda record: record["price"]), ps.drain()),
        (ps.map_async(price_of, 1), ps.drain()),
        (ps.count_by_key(lambda record: record["price"]), ps.drain()),
        (ps.reduce_by_key(ps.agg.count(), key=lambda record: record["price"]), ps.drain()),
        (ps.reduce_by_time(ps.agg.sum(lambda record: record["price"])), ps.drain()),
        (ps.sort_by_time(lambda record: record["price"]), ps.drain()),
        (ps.tumbling(5, key=lambda record: record["price"]), ps.drain()),
        (ps.stamp(lambda record: record["price"]), ps.drain()),
        (ps.flat_map(lambda record: record["price"] and [1]), ps.drain()),
        (ps.drain(lambda record: record["price"]),),
    ],
    ids=lambda modules: modules[0].modules[0].name,
)
def test_a_failure_names_the_value_it_struck_at(modules):
    """Which record has no such field is what a user has to find out next."""
    with pytest.raises(KeyError, match="price") as caught:
        ps.run(ps.pipe(ps.values(RECORDS), *modules))
    (note,) = caught.value.__notes__
    assert note.startswith(f"raised in {modules[0].modules[0].name}")
    assert note.endswith("at the value {'cost': 2}")


@pytest.mark.parametrize(
    "module",
    [ps.unique(), ps.group_by(lambda record: record, ps.map(len))],
    ids=lambda module: module.modules[0].name,
)
def test_a_key_that_has_no_hash_is_named(module):
    """A key's own type error says only of which type it is."""
    with pytest.raises(TypeError, match="unhashable") as caught:
        ps.run(ps.pipe(ps.values(RECORDS), module, ps.drain()))
    hint, place = caught.value.__notes__
    assert hint.startswith("a key must be hashable")
    assert place.endswith(f"at the value {RECORDS[0]!r}")


@pytest.fixture
def rows(tmp_path):
    """A table, whose rows have a class of the toolkit's own."""
    (tmp_path / "a.csv").write_text("item,count\ntea,0\n")
    return files.read_csv(tmp_path / "a.csv")


def test_a_failure_names_the_row_it_struck_at(rows):
    """As it does any other value."""
    with pytest.raises(ZeroDivisionError) as caught:
        ps.run(ps.pipe(rows, ps.map(lambda row: 1 / row.count), ps.drain()))
    assert caught.value.__notes__[0].endswith("at the value Row(item='tea', count=0)")


def test_a_row_that_is_taken_for_a_dict_says_how_its_columns_are_got(rows):
    """Python speaks of a tuple's indices there."""
    with pytest.raises(TypeError, match="tuple indices") as caught:
        ps.run(ps.pipe(rows, ps.map(lambda row: row["item"]), ps.drain()))
    hint, note = caught.value.__notes__
    assert hint == "a row is a named tuple: write row.item, or row[0] for a column by position"
    assert note.endswith("at the value Row(item='tea', count=0)")


def test_a_text_is_no_list_of_values():
    """It would be taken letter by letter, which nobody means."""

    @ps.source
    async def swapped(ctx):
        yield ps.Batch(("tea", "rice"), "monday")

    @ps.source
    async def single(ctx):
        yield ps.Batch("monday", "tea")

    @ps.transformer
    class Named(ps.authoring.Kernel[str]):
        async def produce(self, limit):
            batch = await self.upstream.ask(limit)
            return batch if batch is ps.DONE else ps.Batch(batch.time, "tea")

    for source, advice in [
        (swapped(), r"the time comes first, Batch\('monday', \('tea', 'rice'\)\)"),
        (single(), r"a list of one, Batch\('monday', \['tea'\]\)"),
        (ps.pipe(ps.values([1, 2, 3]), Named()), r"a list of one, Batch\(0, \['tea'\]\)"),
    ]:
        with pytest.raises(ps.errors.ProtocolError, match=f"letter by letter: .*{advice}"):
            ps.run(ps.pipe(source, ps.collect()))


def test_what_a_module_of_ones_own_raises_is_noted_without_a_value():
    """It is called with its reader, and which value it was at nobody can know."""

    @ps.transformer
    async def prices(upstream, ctx):
        async for batch in ctx.batches(upstream):
            yield ps.Batch(batch.time, [record["price"] for record in batch.values])

    with pytest.raises(KeyError) as caught:
        ps.run(ps.pipe(ps.values(RECORDS), prices(), ps.drain()))
    assert "value" not in caught.value.__notes__[0]


def test_completions_that_nobody_asked_for_are_remarked(caplog):
    """A transformer that waits for what cannot come ends with nothing, which looks like an empty stream."""

    @ps.transformer
    async def total(upstream, ctx):
        totals = {}
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, values):
                    totals[time] = totals.get(time, 0) + sum(values)
                case ps.Completed(time):
                    yield ps.Batch(time, [totals.pop(time)])

    assert ps.run(ps.pipe(ps.values([1, 2]), total(), ps.collect())) == []
    (message,) = caplog.messages
    assert message.startswith("total, composed at")
    assert "ctx.notify_at(time)" in message


def test_a_hold_that_is_no_block_is_remarked(caplog):
    """It would hold nothing, and what is owed would look complete."""

    @ps.sink
    async def owes(upstream, ctx):
        async for batch in ctx.batches(upstream):
            ctx.hold(batch.time)
            with ctx.hold(batch.time):
                pass

    ps.run(ps.pipe(ps.values([1]), owes()))
    (message,) = caplog.messages
    assert message.startswith("owes, composed at")
    assert "`with ctx.hold(time):`" in message


def test_a_notification_that_nobody_reads_is_remarked(caplog):
    """Its time stays open, and nobody hears of its completion."""

    @ps.transformer
    async def passing(upstream, ctx):
        async for batch in ctx.batches(upstream):
            ctx.notify_at(batch.time)
            yield batch

    assert ps.run(ps.pipe(ps.values([1, 2]), passing(), ps.collect())) == [1, 2]
    (message,) = caplog.messages
    assert message.startswith("passing, composed at")
    assert "ctx.events(upstream)" in message


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (
            lambda batch: ps.Batch(batch.time - 1, [1]),
            r"at 2, but may not: .* that it works on is at 3\. To answer at 2 later",
        ),
        (lambda batch: batch.values[0], r"here Batch\(batch\.time, \[3\]\)"),
        (lambda batch: ps.Completed(batch.time), "and no completion"),
        (lambda batch: ps.Batch(batch.time, set(batch.values)), r"Batch\(3, list\(...\)\)"),
    ],
)
def test_an_answer_that_may_not_be_says_what_may(answer, hint):
    """The module is at a batch, whose time it has."""

    @ps.transformer
    async def answers(upstream, ctx):
        async for batch in ctx.batches(upstream):
            yield answer(batch)

    with pytest.raises(ps.PullstreamError, match=rf"^(R2: )?answers, composed at .*{hint}") as caught:
        ps.run(ps.pipe(ps.values([3], time=int), answers(), ps.collect()))
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (lambda: ps.filter(forgets), ["filter() at", "forgets", "must return true or false"]),
        (lambda: ps.take(forgets), ["take() at", "must return true or false"]),
        (lambda: ps.find(forgets), ["find() at", "must return true or false"]),
        (lambda: ps.unique(forgets), ["unique() at", "must return a key"]),
        (lambda: ps.scan(forgets, 0), ["scan() at", "must return the new state"]),
        (lambda: ps.reduce(forgets, 0), ["reduce() at", "must return the new state"]),
        (lambda: ps.stamp(forgets), ["stamp() at", "must return a time"]),
        (lambda: ps.values([1], time=forgets), ["values() at", "must return a time"]),
        (lambda: ps.agg.sum(forgets), ["sum() at", "must return a value"]),
        (lambda: ps.reduce_by_time(ps.agg.sum), ["reduce_by_time() at", "write agg.sum()"]),
        (lambda: ps.reduce_by_time(sum), ["write agg.sum()"]),
        (lambda: ps.reduce_by_time(len), ["write agg.count()"]),
        (lambda: ps.catch(ValueError), ["catch() at", "write on=ValueError"]),
        (lambda: ps.run([ps.pipe(ps.once(1), ps.collect())] * 2), ["run() at", "got 2", "one after another"]),
        (lambda: ps.pipe(ps.broadcast(1), ps.collect()), ["part 1 of pipe() at", "listen() makes a source of it"]),
    ],
)
def test_more_that_is_refused_when_composing(compose, words):
    """With how it is written."""
    message = refused(compose)
    assert all(word in message for word in words), message


def forgets(*values):
    values == 1  # noqa: B015 - the `return` is missing


def generates(value):
    yield value


def raises(value):
    raise ValueError(value)


def decides(value):
    if value:
        return None
    return value


@pytest.mark.parametrize("function", [lambda _: None, generates, raises, decides, print, operator.not_])
def test_a_function_that_may_return_something_is_not_refused(function):
    """One constant key is meant, say; and what is not written in Python shows no code."""
    assert ps.filter(function)
    assert ps.unique(function)


def in_a_block():
    async def main():
        async for _ in ps.aiterate(ps.once(1)):
            pass

    trio.run(main)


def with_body(body):
    @ps.transformer
    async def own(upstream, ctx):
        await body(upstream, ctx)
        yield

    return lambda: ps.run(ps.pipe(ps.values([1]), own(), ps.collect()))


async def iterates_a_batch(upstream, ctx):
    for _ in await upstream.ask():
        pass


async def counts_a_batch(upstream, ctx):
    len(await upstream.ask())


async def forgets_async(upstream, ctx):
    for _ in ctx.batches(upstream):
        pass


async def forgets_async_of_events(upstream, ctx):
    for _ in ctx.events(upstream):
        pass


async def ignores_the_end(upstream, ctx):
    while True:
        (await upstream.ask()).values.index(1)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (in_a_block, "async with aiterate(source) as values: async for value in values"),
        (with_body(iterates_a_batch), "write `for value in batch.values`"),
        (with_body(counts_a_batch), "write len(batch.values)"),
        (with_body(forgets_async), "write `async for batch in ctx.batches(upstream)`"),
        (with_body(forgets_async_of_events), "write `async for event in ctx.events(upstream)`"),
        (with_body(ignores_the_end), "answered with ps.DONE"),
        (lambda: ps.run(ps.pipe(ps.values([{}]), ps.unique(), ps.drain())), "a key must be hashable"),
        (
            lambda: ps.run(ps.pipe(ps.once(1), ps.flat_map(lambda n: n), ps.drain())),
            "needs a source or an iterable for each value, but got 1: put a single value into a list, or use map",
        ),
    ],
)
def test_what_python_refuses_is_answered_with_what_to_write(call, hint):
    """Python's own words name a class that the user has never seen."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        call()
    assert hint in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])


def test_a_loop_that_goes_on_after_the_end_is_remarked(caplog):
    """It may never wait again, and then nothing else is heard of it."""
    asked = []

    @ps.transformer
    async def retries(upstream, ctx):
        while len(asked) < 3000:
            try:
                batch = await upstream.ask()
                yield ps.Batch(batch.time, batch.values)
            except AttributeError:
                asked.append(1)

    ps.run(ps.pipe(ps.values([1]), retries(), ps.drain()))
    (message,) = caplog.messages
    assert message.startswith("retries, composed at")
    assert "has asked values 1000 times after the end" in message


def test_a_listener_that_comes_after_the_end_is_remarked(caplog):
    """What was sent is not kept for it."""

    async def main():
        news = ps.broadcast(1)
        await news.send(1)
        news.end()
        async with ps.pipe(news.listen(), ps.collect()).open() as running:
            return await running.result()

    assert trio.run(main) == []
    (message,) = caplog.messages
    assert "Open the listeners before you send" in message


def test_the_traceback_of_a_refused_call_is_the_user_s(monkeypatch):
    """Only its line, and the one that says what is wrong."""
    monkeypatch.delenv("PULLSTREAM_TRACEBACK", raising=False)
    for call in (lambda: ps.map(1), lambda: ps.agg.sum(1), lambda: ps.take(count=1)):
        with pytest.raises(ps.CompositionError) as caught:
            call()
        assert frames_of(caught.value).count("pullstream") == 1


@ps.transformer
async def appends(upstream, ctx):
    async for batch in ctx.batches(upstream):
        batch.values.append(9)
        yield batch


@ps.sink
async def pops(upstream, ctx):
    async for event in ctx.events(upstream):
        event.values.pop()


@pytest.mark.parametrize("rest", [(appends(), ps.collect()), (pops(),)], ids=str)
def test_a_batch_that_is_changed_is_told(rest):
    """Whether its values are a list, which other modules may hold, or a sequence that cannot be changed."""
    with pytest.raises(ps.PullstreamError, match=r"^sharing: (appends|pops), composed at .* Make a new one") as caught:
        ps.run(ps.pipe(ps.values([1, 2]), *rest))
    for values in (range(3), (1, 2)):
        with pytest.raises(AttributeError) as caught:
            ps.run(ps.pipe(ps.values(values), *rest))
        assert "make a new list" in caught.value.__notes__[0]


def test_a_time_without_a_hash_is_named():
    """It is the time, and not a value, that is wrong."""
    with pytest.raises(TypeError, match=r"\[1\] cannot be a time") as caught:
        ps.run(ps.pipe(ps.values([1], time=lambda value: [value]), ps.collect()))
    assert "raised in values" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("work", "hint"),
    [
        (None, "opens None, but must open a kernel"),
        (FailsToRelease, r"Call the class: opens\(FailsToRelease\(...\)\)"),
        (ps.map(str), "has no decorator"),
    ],
    ids=str,
)
def test_a_function_that_opens_no_kernel_is_named(work, hint):
    """What it gave would fail somewhere in the machine."""

    @ps.transformer
    def opened() -> ps.Transformer:
        return work

    with pytest.raises(ps.CompositionError, match=f"opened, composed at .*{hint}"):
        ps.run(ps.pipe(ps.values([1]), opened(), ps.collect()))

    @ps.sink
    def consumed() -> ps.Sink:
        return work

    with pytest.raises(ps.CompositionError, match="consumed, composed at .*must open an async function"):
        ps.run(ps.pipe(ps.values([1]), consumed()))


def test_a_method_that_nobody_would_run_is_refused():
    """It would give a generator, or a coroutine that nobody awaits, and so nothing."""
    with pytest.raises(ps.CompositionError, match=rf"Yields.produce, at {__file__}:\d+, yields"):

        class Yields(ps.authoring.Kernel[int]):
            async def produce(self, limit):
                yield ps.Batch(0, [limit])

    with pytest.raises(ps.CompositionError, match=r"Counts.complete, at .*: def complete$"):

        class Counts(Notified):
            def receive(self, batch):
                pass

            async def complete(self, time):
                pass


def test_a_class_that_forgets_what_it_is_made_of_is_told():
    """The attribute that is missing is none of the author's."""

    @ps.transformer
    class Forgets(Notified):
        def __init__(self):
            self.totals = {}

        def receive(self, batch):
            pass

        def complete(self, time):
            pass

    with pytest.raises(ps.CompositionError, match=r"Forgets, composed at .*super\(\).__init__\(\)"):
        ps.run(ps.pipe(ps.values([1]), Forgets(), ps.collect()))


@pytest.mark.parametrize("window", [ps.tumbling(60), ps.sliding(60, 30), ps.sessions(60)], ids=str)
def test_windows_over_values_without_times_are_remarked(window, caplog):
    """All in one window is what comes of a forgotten `time=`."""
    ps.run(ps.pipe(ps.values([1, 2, 3]), window, ps.drain()))
    (message,) = caplog.messages
    assert "the time 0" in message
    assert "stamp(...)" in message
    caplog.clear()
    ps.run(ps.pipe(ps.values([0, 0, 1], time=lambda n: n), window, ps.drain()))
    ps.run(ps.pipe(ps.values([5], time=lambda n: n), window, ps.drain()))
    assert not caplog.messages


def test_a_call_that_sleeps_without_trio_is_remarked_once(caplog):
    """Ten calls side by side take as long as one after the other, and nothing else says why."""

    async def call(n):
        time.sleep(0.15)  # noqa: ASYNC251 - the slip
        return n

    ps.run(ps.pipe(ps.values(range(8)), ps.map_async(call, 4), ps.drain()))
    (message,) = caplog.messages
    assert message.startswith("map_async, composed at")
    assert "map_thread" in message


@ps.source
async def months(ctx, first):
    yield first


@pytest.mark.parametrize(
    ("batch", "hint"),
    [
        (ps.Batch([1], 0), r"Batch\(0, \[1\]\)"),
        (ps.Batch(0, 7), r"Batch\(0, \[7\]\)"),
        (ps.Batch(0, iter([7])), r"Batch\(0, list\(...\)\)"),
        (ps.Batch((0, 1), {"tea": 7}), r"Batch\(\(0, 1\), \[{'tea': 7}\]\)"),
    ],
)
def test_a_batch_with_its_arguments_turned_says_how_it_is_written(batch, hint):
    """Its time is no list, and its values are."""

    @ps.source
    async def turned_round(ctx):
        yield batch

    with pytest.raises(ps.errors.ProtocolError, match=hint):
        ps.run(ps.pipe(turned_round(), ps.collect()))


def test_an_argument_that_is_nearly_right_is_answered_with_the_right_one():
    """What is one letter off is what was meant."""
    with pytest.raises(ps.CompositionError, match="did you mean first="):
        months(fist=1)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: ps.aggregate(ps.agg.count()),
            (
                "takes no argument by position, but got 1. "
                "Write aggregate(n=agg.count(), key=..., eager=..., on_error=...)"
            ),
        ),
        (
            lambda: ps.reduce_by_key(len, ps.agg.count()),
            "takes 1 argument by position, but got 2. Write reduce_by_key(fold, key=..., eager=..., on_error=...)",
        ),
        (
            lambda: ps.map(str, [1]),
            (
                "takes 1 argument by position, but got 2. Write map(function, on_error=...). "
                "Its values come from the module above it: pipe(values(...), map(...))"
            ),
        ),
        (lambda: ps.map(str, "skip"), "takes 1 argument by position, but got 2. Write map(function, on_error=...)"),
        (
            lambda: ps.windowed(size=3),
            "has no argument 'size'. Write windowed(count=..., step=..., seconds=..., every=..., capacity=...)",
        ),
        (lambda: ps.take(count=3), "has no argument 'count'. Write take(what, last=..., ahead=..., on_error=...)"),
        (ps.map, "needs the argument 'function'. Write map(function, on_error=...)"),
        (
            lambda: ps.run(ps.pipe(ps.once(1), ps.drain()), chek=True),
            (
                "has no argument 'chek'; did you mean check=? Write run(pipeline, limit=..., release_timeout=..., "
                "check=..., beside=..., journal=..., trace=...)"
            ),
        ),
        (
            ps.arun,
            (
                "needs the argument 'pipeline'. Write arun(pipeline, limit=..., release_timeout=..., "
                "check=..., beside=..., journal=..., trace=...)"
            ),
        ),
        (
            lambda: ps.pipe(ps.once(1), ps.drain()).open(True),
            (
                "takes no argument by position, but got 1. Write open(limit=..., release_timeout=..., "
                "check=..., beside=..., journal=..., trace=...)"
            ),
        ),
        (lambda: ps.agg.mean(off=len), "has no argument 'off'; did you mean of=? Write mean(of=...)"),
    ],
)
def test_arguments_that_do_not_fit_are_answered_with_how_the_call_is_written(call, told):
    """The message has the names and the order of the arguments."""
    with pytest.raises(ps.CompositionError) as caught:
        call()
    assert str(caught.value).partition(" at ")[2].partition(" ")[2] == told


def test_a_module_that_does_not_take_its_context_is_told_that_a_run_gives_it():
    """Python alone would say that there are too many arguments."""

    @ps.source
    async def days(month):
        yield month

    with pytest.raises(ps.CompositionError, match=r"async def days\(ctx, month\)"):
        days(5)


@pytest.mark.parametrize(
    ("package", "name", "hint"),
    [
        ("pandas", "DataFrame", r"values\(df.itertuples\(index=False\)\)"),
        ("pyarrow", "Table", r"values\(table.to_pylist\(\)\)"),
        ("pyspark.sql.classic.dataframe", "DataFrame", r"spark.from_dataframe\(df\)"),
    ],
)
def test_a_table_given_for_a_source_is_answered_with_what_makes_one(package, name, hint):
    """Some can be iterated, which would give the names of their columns."""
    table = type(name, (), {"__module__": package, "__iter__": lambda self: iter(["a"])})()
    with pytest.raises(ps.CompositionError, match=hint):
        ps.pipe(table, ps.collect())
    with pytest.raises(ps.CompositionError, match=r"values\(\) at .* would not iterate a .* by rows: .*" + hint):
        ps.values(table)
    for module in (ps.flat_map(lambda _: table), ps.map_batches(lambda _: table)):
        with pytest.raises(TypeError, match=r"composed at .* apart by columns, .*" + hint):
            ps.run(ps.pipe(ps.once(1), module, ps.collect()))
    with pytest.raises(TypeError, match=r"flatten, composed at .* apart by columns, .*" + hint):
        ps.run(ps.pipe(ps.once(table), ps.flatten(), ps.collect()))


def frames_of(exc):
    found, entry = [], exc.__traceback__
    while entry is not None:
        found.append(entry.tb_frame.f_globals.get("__name__", "pullstream").partition(".")[0])
        entry = entry.tb_next
    return found


def by_run(pipeline):
    ps.run(pipeline)


def by_open(pipeline):
    async def main():
        async with pipeline.open() as running:
            await running.result()

    trio.run(main)


def by_arun(pipeline):
    asyncio.run(ps.arun(pipeline))


@pytest.mark.parametrize("how", [by_run, by_open, by_arun])
def test_a_traceback_is_the_user_s(how, monkeypatch):
    """Between the line that runs and the function that raised a user has nothing to look for."""

    def price(record):
        return found_in(record)

    def found_in(record):
        return record["price"]

    pipeline = ps.pipe(ps.values(RECORDS), ps.map(price), ps.count_by_key(), ps.drain())
    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(KeyError) as short:
        how(pipeline)
    monkeypatch.setenv("PULLSTREAM_TRACEBACK", "full")
    with pytest.raises(KeyError) as full:
        how(pipeline)
    kept = frames_of(short.value)
    assert kept[-2:] == [__name__.partition(".")[0]] * 2
    assert kept.count("pullstream") <= 4
    assert frames_of(full.value).count("pullstream") > 8


MICROSECONDS = ps.values([60_000_000, 70_000_000], time=lambda n: n)
"""Times as a TIMESTAMP column has them."""


@pytest.mark.parametrize(
    "modules",
    [
        (MICROSECONDS, ps.tumbling(timedelta(seconds=30))),
        (MICROSECONDS, ps.sliding(timedelta(seconds=30), timedelta(seconds=10))),
        (MICROSECONDS, ps.sessions(timedelta(seconds=30))),
        (MICROSECONDS, ps.delay(timedelta(seconds=30))),
        (ps.join(MICROSECONDS, MICROSECONDS, on=str, within=timedelta(seconds=30)),),
        (ps.values([60_000_000]), ps.stamp(lambda n: n, lateness=timedelta(seconds=30))),
    ],
    ids=["tumbling", "sliding", "sessions", "delay", "join", "stamp"],
)
def test_a_timedelta_over_whole_numbers_says_what_it_is_in_microseconds(modules):
    """Wherever a duration is given; of a TIMESTAMP column times are whole numbers, whose unit no timedelta knows."""
    with pytest.raises((TypeError, TimelyError), match="TIMESTAMP column, the duration is 30_000_000"):
        ps.run(ps.pipe(*modules, ps.drain()))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ps.stamp(abs, lateness=-3), "a lateness that is not negative, but got -3"),
        (lambda: ps.stamp(abs, lateness=math.nan), "not negative, but got nan"),
        (lambda: ps.stamp(abs, lateness=timedelta(-1)), "not negative, but got datetime.timedelta"),
        (lambda: ps.sliding(4, timedelta(1)), "two numbers or two timedeltas, but got size=4"),
    ],
)
def test_a_duration_that_cannot_be_meant_is_refused_when_composing(make, said):
    """A negative lateness would drop what is in order; a number beside a timedelta fits no time."""
    with pytest.raises(ps.CompositionError, match=said):
        make()


def test_a_window_over_values_without_times_says_so():
    """The time 0 is not taken for microseconds."""
    pipeline = ps.pipe(ps.values([1]), ps.tumbling(timedelta(minutes=5)), ps.collect())
    with pytest.raises(TimelyError, match="Values without an assigned time are at 0"):
        ps.run(pipeline)


def test_times_with_and_without_a_zone_are_told_apart():
    """Python's own words name neither the zone nor the other time."""
    times = [datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=UTC)]  # noqa: DTZ001 - the case
    with pytest.raises(TimelyError, match="with a time zone and one without"):
        ps.run(ps.pipe(ps.values(times), ps.stamp(lambda time: time), ps.collect()))


def test_arrays_may_be_yielded():
    """A sequence of values need not have a truth of its own."""

    class Values(list):
        def __bool__(self):
            raise ValueError("ambiguous")

    @ps.source
    async def two(ctx):
        yield ps.Batch(0, Values([1, 2]))

    assert ps.run(ps.pipe(two(), ps.collect())) == [1, 2]


@ps.transformer
async def one_behind(upstream, ctx):
    kept = None
    async for batch in ctx.batches(upstream):
        if kept is not None:
            yield kept  # too late
        kept = batch


@ps.transformer
async def of_nothing(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield ps.Batch(batch.time, [])  # no value


@ps.source
async def back_in_time(ctx):
    yield ps.Batch(3, [1])
    yield ps.Batch(2, [1])  # earlier


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (ps.pipe(ps.values([1, 2], time=abs), one_behind()), "yield kept  # too late"),
        (ps.pipe(ps.values([1, 2]), of_nothing()), "yield ps.Batch(batch.time, [])  # no value"),
        (back_in_time(), "yield ps.Batch(2, [1])  # earlier"),
    ],
    ids=["R12", "R2", "back in time"],
)
def test_the_traceback_of_a_refused_answer_ends_at_its_yield(source, line):
    """The generator waits at that line; the code that finds the mistake is nobody's business."""
    with pytest.raises(ps.PullstreamError) as caught:
        ps.run(ps.pipe(source, ps.collect()))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].line == line
    assert [frame.line for frame in frames].count(line) == 1
