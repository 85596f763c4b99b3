"""What a slip of the pen is answered with: the module, what was wrong, and what to write instead."""

import asyncio
import operator
import re
import signal
import threading
import time
import traceback
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from types import SimpleNamespace

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream import files, spark
from pullstream.authoring import Notified
from pullstream.blueprint import Emits
from pullstream.conformance.ready import TRANSFORMERS
from pullstream.program.endless import never_gives
from timely import TimelyError


async def half(n):
    return n / 2


def some():
    yield 1


async def nothing_taken():
    yield 1


async def without_ctx(upstream):
    yield upstream


async def without_run(key):
    yield key


async def turned(ctx, upstream):
    yield ctx, upstream


def forgets(*values):
    values == 1  # noqa: B015 - the `return` is missing


def refused(compose):
    with pytest.raises(ps.PullstreamError) as caught:
        compose()
    return str(caught.value)


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (lambda: ps.map(half), ["map() at", __file__, "half", "map_async"]),
        (lambda: ps.pipe([ps.values([1]), ps.collect()]), ["part 1 of pipe() at", "pipe(*parts)"]),
        (lambda: ps.pipe([1, 2], ps.collect()), ["part 1 of pipe() at", "[1, 2]", "values(...)"]),
        (lambda: ps.pipe(nothing_taken(), ps.collect()), ["part 1 of pipe() at", "from_async_iterable(...)"]),
        (lambda: ps.fork(ps.unique), ["fork() at", "unique()"]),
        (lambda: ps.iterate([1, 2]), ["iterate() at", "values(...)"]),
        (lambda: ps.iterate(ps.pipe(ps.values([1]), ps.collect())), ["iterate() at", "leave out its sink"]),
        (lambda: ps.aggregate(n=ps.agg.count), ["aggregate(n=...) at", "agg.count()"]),
        (lambda: ps.transformer(turned), ["@transformer at", "swap its first two arguments", "turned"]),
        (lambda: ps.source(half), ["@source", "one with a yield"]),
        (lambda: ps.values(some), ["values() at", "Call it: values(some())"]),
        (lambda: ps.source(some), ["@source at", "write async def some", "values(some())"]),
        (lambda: ps.source(nothing_taken), ["@source at", "calls with (ctx, ...)", "nothing_taken()"]),
        (lambda: ps.transformer(without_ctx), ["@transformer at", "(upstream, ctx, ...)", "without_ctx(upstream)"]),
        (lambda: ps.sink(half), ["@sink at", "(upstream, ctx, ...)", "half(n)", "async def half(upstream, ctx, n)"]),
        (lambda: ps.transformer(half), ["@transformer at", "no yield"]),
        (lambda: ps.sink(), ["@sink at", "write @ps.sink without parentheses"]),  # noqa: PLW0108
        (lambda: ps.sink(nothing_taken), ["@sink at", "has no yield"]),
        (lambda: ps.merge([ps.values([1])]), ["merge() at", "one by one, merge(*sources)"]),
        (lambda: ps.Fold(3, half), ["Fold() at", "initial", "3"]),
        (lambda: ps.values(nothing_taken()), ["@ps.source"]),
        (lambda: ps.source(turned)(upsream=1), ["did you mean upstream="]),
        (lambda: ps.source(without_run)(5), ["async def without_run(ctx, key)"]),
        (lambda: ps.source(without_ctx), ["a source has no upstream: write async def without_ctx(ctx)"]),
        (lambda: ps.filter(forgets), ["filter() at", "forgets", "must return true or false"]),
        (lambda: ps.unique(forgets), ["unique() at", "must return a key"]),
        (lambda: ps.scan(forgets, 0), ["scan() at", "must return the new state"]),
        (lambda: ps.stamp(forgets), ["stamp() at", "must return a time"]),
        (lambda: ps.agg.sum(forgets), ["sum() at", "must return a value"]),
        (lambda: ps.reduce_by_time(ps.agg.sum), ["reduce_by_time() at", "write agg.sum()"]),
        (lambda: ps.reduce_by_time(sum), ["write agg.sum()"]),
        (lambda: ps.reduce_by_time(len), ["write agg.count()"]),
        (lambda: ps.tumbling(10, {"n": ps.agg.count()}), ["write agg.several(n=agg.count(), ...)"]),
        (lambda: ps.sliding(10, 5, ps.aggregate(n=ps.agg.count())), ["for several results, write agg.several("]),
        (lambda: ps.catch(ValueError), ["catch() at", "write on=ValueError"]),
        (lambda: ps.run([ps.pipe(ps.once(1), ps.collect())] * 2), ["run() at", "got 2", "one after another"]),
        (lambda: ps.pipe(ps.broadcast(1), ps.collect()), ["part 1 of pipe() at", "listen() makes a source of it"]),
        # A part of another kind.
        (lambda: ps.tee(print), ["write drain(print)"]),
        (lambda: ps.map(int, on_error=print), ["must be one of 'fail'", "write drain(print)"]),
        (lambda: ps.stamp(int, late=[].append), ["a sink", "write drain(append)"]),
        (lambda: ps.stamp(int, late="skip"), ["must be 'error', 'drop' or a sink"]),
        (lambda: ps.fork(ps.collect()), ["use tee(*sinks)"]),
        (lambda: ps.tee(ps.map(str)), ["use fork(*transformers)"]),
        (lambda: ps.group_by(str, ps.collect()), ["use reduce_by_key(fold, key=f)"]),
        (lambda: ps.pipe(ps.values([1]), ps.merge(ps.values([2]))), ["must come first", "merge(pipe(source, ...)"]),
        (lambda: ps.group_by(len, str.upper), ["group_by() at", "map(str.upper)"]),
        (lambda: ps.pipe(ps.values([1]), print), ["the sink drain(print)"]),
        (lambda: ps.pipe(ps.values([1]), list), ["collect() gives the values as a list"]),
        (lambda: ps.merge(some), ["merge() at", "values(some())"]),
        # Other arguments than meant.
        (lambda: ps.in_flight(4, ps.map(str)), ["in_flight() at", "in the wrong order"]),
        (lambda: ps.map({"a": 1}), ["pass its method get"]),
        (lambda: ps.values([1], time=3), ["for the same time everywhere, write lambda _: 3"]),
        (lambda: ps.stamp(int, lateness="1h"), ["a number or a timedelta for its argument 'lateness'"]),
        (lambda: ps.reduce(ps.agg.top), ["write agg.top()"]),
        (lambda: ps.reduce(list.append, []), ["list.append, which never returns a value"]),
        (lambda: ps.run(ps.pipe(ps.values([1]), ps.drain()), limit="10"), ["a whole number of at least 1"]),
        (lambda: ps.run(ps.pipe(ps.values([1]), ps.drain()), release_timeout="5"), ["a number of seconds", "got '5'"]),
        (lambda: ps.run(ps.pipe(ps.values([1]), ps.drain()), trace=True), ["trace= must be the path of a file"]),
        (lambda: ps.scan(0, max), ["scan() at", "in the wrong order"]),
        (lambda: ps.Fold(abs, int), ["in the wrong order: write Fold(int, step)"]),
        (lambda: ps.Fold([], max), ["give a function that makes it: list"]),
        (lambda: ps.Fold(7, max), ["give a function that makes it: lambda: 7"]),
        (lambda: ps.Fold(int, forgets), ["Fold() at", "must return the new state"]),
        (lambda: ps.find(3), ["write lambda value: value == 3"]),
        (lambda: ps.filter(None), ["write bool"]),
        (lambda: ps.fail(OSError), ["needs an exception", "make one with OSError(...)"]),
        (lambda: ps.catch([1]), ["write lambda error: [1]"]),
        (lambda: ps.values(3), ["use once(3)"]),
        (lambda: ps.debounce(timedelta(seconds=5)), ["total_seconds()"]),
        (lambda: ps.rate_limit(0.5), ["rate_limit(1, per=2)"]),
        (lambda: ps.map(str).named(3), ["named() at", "needs a text"]),
        (lambda: ps.from_callback(lambda: None), ["must take emit"]),
        (lambda: ps.flat_map(half), ["map_async(function, concurrency), then flatten()"]),
        (lambda: ps.flat_map(nothing_taken), ["flat_map(lambda value: from_async_iterable(nothing_taken(value)))"]),
        (lambda: ps.drain(some), ["the generator function some", "leave out its yield"]),
        (lambda: ps.values([1], time=half), ["use map_async to make (time, value) pairs first, then stamp(...)"]),
        (lambda: files.read_text("a.txt", follow="no"), ["read_text() at", "must be False or True"]),
        (lambda: files.read_csv("a.csv", delimeter=";"), ["did you mean delimiter="]),
        (lambda: files.read_csv("a.csv", sep=";"), ["delimiter="]),
        (lambda: spark.from_dataframe(None, tme="day"), ["from_dataframe() at", "did you mean time="]),
    ],
)
@pytest.mark.filterwarnings("ignore:coroutine 'half' was never awaited")
def test_composition(compose, words):
    message = refused(compose)

    assert [word for word in words if word not in message] == []


async def test_run_inside_trio():
    with pytest.raises(ps.PullstreamError, match="async with"):
        ps.run(ps.pipe(ps.empty(), ps.collect()))


def test_a_kernel_is_opened_once():
    kernel = ps.authoring.Passing()

    @ps.transformer
    def shared() -> ps.Transformer:
        return ps.authoring.opens(kernel)

    pipeline = ps.pipe(ps.values([1]), shared(), ps.collect())
    assert ps.run(pipeline) == [1]
    with pytest.raises(ps.errors.ReuseError, match=r"^shared, .* opens a Passing that has been opened before"):
        ps.run(pipeline)


async def test_a_running_is_entered_once():
    async with ps.pipe(ps.values([1]), ps.collect()).open() as running:
        with pytest.raises(ps.errors.ReuseError, match="open"):
            await running.__aenter__()
        assert await running.result() == [1]


def test_code_of_asyncio_is_sent_where_it_runs():
    for seconds in (0, 0.001):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            ps.run(ps.pipe(ps.once(seconds), ps.map_async(asyncio.sleep, 2), ps.drain()))
        assert "map_async(asyncio_call(f), concurrency)" in caught.value.__notes__[0]
        ps.run(ps.pipe(ps.once(seconds), ps.map_async(ps.asyncio_call(asyncio.sleep), 2), ps.drain()))


def test_a_full_pushable_says_so():
    source = ps.pushable(1)
    source.push_nowait("a")
    with pytest.raises(trio.WouldBlock, match=r"await push\(\)"):
        source.push_nowait("b")


async def awaited(module):
    await module


async def iterated(module):
    async for _ in module:
        pass


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda source: source | ps.map(str), r"ps\.pipe\(source, transformer"),
        (lambda source: source >> ps.map(str), r"ps\.pipe\(source, transformer"),
        (lambda source: [1] | source, r"ps\.pipe\(source, transformer"),
        (lambda source: source.map(str), r"ps\.pipe\(source, ps\.map\(\.\.\.\), \.\.\.\)"),
        (lambda source: source.run(), r"ps\.run\(pipeline\)"),
        (list, r"ps\.run\(ps\.pipe\(values\(\[1\]\), ps\.collect\(\)\)\).*ps\.iterate\(values\(\[1\]\)\)"),
        (lambda _: list(ps.map(str)), "is a transformer"),
        (lambda _: list(ps.collect()), "is a sink"),
        (lambda source: list(ps.pipe(source, ps.collect())), r"ps\.run\(pipe\(values\(\[1\]\), collect\(\)\)\)"),
        (lambda source: source.nothing_known, "has no attribute 'nothing_known'$"),
        (lambda source: trio.run(awaited, source), r"await ps\.arun\(pipeline\)"),
        (lambda source: trio.run(iterated, source), r"ps\.aiterate\(source\)"),
        (lambda source: ps.pipe(source, ps.drain()).open().__enter__(), r"async with pipeline\.open\(\)"),
    ],
)
def test_how_other_libraries_compose_and_run_leads_on(use, told):
    with pytest.raises((TypeError, AttributeError), match=told):
        use(ps.values([1]))


@pytest.mark.parametrize("opens", [lambda source: ps.pipe(source, ps.collect()).open(), ps.aiterate])
def test_what_is_opened_without_trio_says_what_to_call(opens):
    async def opened():
        async with opens(ps.values([1])):
            pass

    with pytest.raises(
        ps.PullstreamError, match=r"trio program.* run\(pip.* iterate\(source\).* `await arun\(pipeline\)`"
    ):
        asyncio.run(opened())


@pytest.mark.parametrize(
    "call",
    [
        lambda orders: orders.push_nowait("tea"),
        lambda orders: orders.end(),
        lambda orders: orders.advance(1),
        lambda orders: asyncio.run(orders.push("tea")),
        lambda orders: asyncio.run(orders.push_many(["tea"])),
    ],
)
async def test_a_pushable_in_another_thread_says_what_to_do(call):
    orders = ps.pushable(3)
    async with ps.pipe(orders, ps.collect()).open() as running:
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ps.PullstreamError, match=r"pushable, made at .*from_thread.*from_callback"):
            await trio.to_thread.run_sync(call, orders)
        await trio.to_thread.run_sync(trio.from_thread.run, orders.push, "rice")
        orders.end()
        assert await running.result() == ["rice"]


@pytest.mark.parametrize("push", [lambda orders: orders.push("tea"), lambda orders: orders.push_many(["tea"])])
def test_a_pushable_under_asyncio_says_what_to_use(push):
    """Also before its run is open, when it is of no thread yet."""
    with pytest.raises(ps.PullstreamError, match=r"pushable, made at .*Under asyncio, use from_asyncio"):
        asyncio.run(push(ps.pushable(1)))


class FailsToRelease(ps.authoring.Kernel[int]):
    async def produce(self, limit):
        return await self.upstream.ask(limit)

    async def release(self):
        raise ValueError("release")


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


@ps.source
async def closes_badly(ctx):
    try:
        yield 1
        yield 2
    finally:
        raise OSError("close")


def strikes(value):
    raise KeyError("strike")


UNRELEASED = ps.transformer(FailsToRelease)()


def above(module):
    """A source of two values below a module, which is not released well."""
    return ps.pipe(ps.values([1, 2]), ps.transformer(module)(), ps.map(str))


ONE = ps.pipe(ps.values([1]), ps.map_async(later, 1))


@pytest.mark.parametrize(
    ("parts", "places"),
    [
        ((closes_badly(), ps.map(strikes), ps.collect()), ["map(strikes)", "closes_badly"]),
        ((closes_badly(), ps.tee(ps.drain(strikes), ps.collect())), ["drain", "closes_badly"]),
        ((closes_badly(), ps.tap(abs, on_end=strikes), ps.take(1), ps.collect()), ["on_end", "closes_badly"]),
        ((closes_badly(), UNRELEASED, ps.take(1), ps.collect()), ["FailsToRelease", "closes_badly"]),
        ((ps.concat(*[ps.pipe(ps.values([1]), UNRELEASED)] * 2), ps.collect()), ["FailsToRelease"]),
        ((ps.zip(closes_badly(), ps.pipe(closes_badly(), UNRELEASED)), ps.take(1), ps.collect()), ["FailsToRelease"]),
        ((closes_badly(), ps.fork(ps.map(str), ps.map(str)), ps.take(1), ps.collect()), ["closes_badly"]),
        ((ps.values([1]), ps.tap(abs, on_end=strikes), ps.collect()), ["on_end"]),
        ((above(FailsToRelease), ps.take(1), ps.collect()), ["FailsToRelease"]),
        ((above(fails_at_last), ps.take(1), ps.collect()), ["fails_at_last"]),
        ((ps.values([above(fails_at_last)]), ps.flatten(), ps.take(1), ps.collect()), ["fails_at_last"]),
        ((above(goes_on), ps.take(1), ps.collect()), ["goes_on"]),
        ((ps.merge(above(FailsUnderWay), ONE), ps.take(1), ps.collect()), ["FailsUnderWay"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("limit", [1, 16])
def test_no_failure_of_an_ending_is_lost(parts, places, limit):
    with pytest.raises((ValueError, KeyError, OSError, TypeError, RuntimeError)) as caught:
        ps.run(ps.pipe(*parts), limit=limit)
    text = "".join(traceback.format_exception(caught.value))
    assert [place for place in places if text.count(f"raised in {place}, composed") != 1] == []
    assert "raised in fork" not in text


RECORDS = [{"price": 1}, {"cost": 2}]


def price(record):
    return record["price"]


async def price_of(record):
    return record["price"]


def priced(record, tax=0.19):
    return record["price"] * (1 + tax)


def add(total, record, tax=0.19):
    total += record["price"] * (1 + tax)
    return total


def rebinds(record, tax=0.19):
    record = dict(record)
    return priced(record, tax)


def doubly(record):
    if "price" not in record:
        raise ExceptionGroup("no price", [KeyError("price"), ValueError("no currency")])


class Breaks:
    """An iterator of two values, then a failure; its repr is no value."""

    made = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.made += 1
        if self.made == 3:
            raise KeyError("broken")
        return 40 + self.made


def mapped():
    return map({1: 41, 2: 42}.__getitem__, [1, 2, "broken"])


def counts_down(state):
    state -= 1
    return 10 // state, state


class Unreleased(ps.authoring.PerBatch):
    """A module of one's own that fails in a batch, or when it is released."""

    def work(self, out, time, values):
        out += [1 / value for value in values]

    async def release(self):
        raise OSError("not let go")


NAMED = [
    ps.map(price),
    ps.map(operator.itemgetter("price")),
    ps.map_async(price_of, 1),
    ps.count_by_key(price),
    ps.reduce_by_time(ps.agg.sum(price)),
    ps.sort_by_time(price),
    ps.tumbling(5, key=price),
    ps.stamp(price),
    ps.flat_map(lambda record: record["price"] and [1]),
    # A default, an argument of `functools.partial`, or a variable that is assigned is the last one.
    ps.map(priced),
    ps.map(partial(priced, tax=0.07)),
    ps.reduce_by_time(ps.agg.sum(priced)),
    ps.map_thread(priced, concurrency=2),
    ps.map_thread(operator.itemgetter("price"), concurrency=2),
    ps.sort_by_time(lambda record, digits=2: round(record["price"], digits)),
    ps.reduce_by_time(ps.Fold(float, add)),
    ps.accumulate(ps.Fold(float, add)),
    ps.map(rebinds),
    ps.map(doubly),
]
NAMELESS = [
    *(ps.pipe(ps.values(RECORDS), ps.sort_by_time(key)) for key in (rebinds, partial(priced, tax=0.07))),
    # Of an iterator and of `unfold` it would be the value before.
    *(ps.values(make(), time=time) for make in (Breaks, mapped) for time in (None, float)),
    ps.unfold(3, counts_down),
    # A kernel's methods are called with itself, and with batches.
    *(ps.pipe(ps.values([value]), ps.transformer(Unreleased)()) for value in (0, 1)),
]
STRUCK = [
    *((ps.pipe(ps.values(RECORDS), module), ["{'cost': 2}"]) for module in NAMED),
    (ps.pipe(ps.values(RECORDS), ps.drain(price)), ["{'cost': 2}"]),
    (ps.pipe(ps.values([7]), ps.flat_map(lambda _: Breaks())), ["7"]),
    *((stream, []) for stream in NAMELESS),
]
"""Streams that fail, and the values that their failures name."""


@pytest.mark.parametrize(("stream", "values"), STRUCK)
def test_a_failure_names_the_value_it_struck_at_or_none(stream, values):
    with pytest.raises((KeyError, ZeroDivisionError, OSError, ExceptionGroup)) as caught:
        ps.run(stream if isinstance(stream, ps.Pipeline) else ps.pipe(stream, ps.drain()))
    (note,) = caught.value.__notes__
    assert note.startswith(f"raised in {stream.modules[-1].name}")
    assert re.findall("at the value (.*)", note) == values


@pytest.mark.parametrize("results", [5, 0, None, (n for n in [1])])
@pytest.mark.parametrize("early", [False, True])
def test_a_result_that_is_no_sequence_is_refused(results, early):
    """Python speaks of `len()` there, which an author has not called; and 0 would be lost."""

    class Gives(ps.authoring.Notified):
        def receive(self, batch):
            self.notify(batch.time, batch.time)
            if early:
                self.give(batch.time, results)

        def complete(self, time):
            self.give_many([time], results)

    with pytest.raises(TypeError) as caught:
        ps.run(ps.pipe(ps.values([1]), ps.transformer(Gives)(), ps.drain()))
    assert str(caught.value).startswith("Gives, composed at")
    assert "results are given as a sequence" in str(caught.value)
    assert str(caught.value).endswith("give(time, [result])" if early else "give_many([time], [result])")


@pytest.fixture
def rows(tmp_path):
    """A table, whose rows have a class of the toolkit's own."""
    (tmp_path / "a.csv").write_text("item,count\ntea,0\n")
    return files.read_csv(tmp_path / "a.csv")


def test_a_row_that_is_taken_for_a_dict_says_how_its_columns_are_got(rows):
    with pytest.raises(TypeError, match="tuple indices") as caught:
        ps.run(ps.pipe(rows, ps.map(lambda row: row["item"]), ps.drain()))
    hint, note = caught.value.__notes__
    assert hint == "a row is a named tuple: write row.item, or row[0] for a column by position"
    assert note.endswith("at the value Row(item='tea', count=0)")


def test_a_record_batch_that_is_taken_for_a_row_says_how_rows_are_read(tmp_path):
    (tmp_path / "a.csv").write_text("item,count\ntea,0\n")
    batches = files.read_csv(tmp_path / "a.csv", as_="batches")
    with pytest.raises(AttributeError, match="has no attribute 'item'") as caught:
        ps.run(ps.pipe(batches, ps.map(lambda row: row.item), ps.drain()))
    assert caught.value.__notes__[0].endswith("for rows, leave out as_='batches' where they are read")


def test_of_many_columns_the_most_similar_is_named(tmp_path):
    names = [f"price{number}" for number in range(300)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 300) + "\n")
    with pytest.raises(AttributeError) as caught:
        ps.run(ps.pipe(files.read_csv(tmp_path / "a.csv"), ps.map(lambda row: row.price_217), ps.drain()))
    hint, _ = caught.value.__notes__
    assert hint.startswith("the columns are price217, ")
    assert hint.endswith(", ... (300)")
    assert len(hint) < 100


def test_a_failure_that_is_not_about_a_row_gets_no_hint_on_its_columns(rows):
    def refuse(row):
        raise RuntimeError("closed")

    with pytest.raises(RuntimeError) as caught:
        ps.run(ps.pipe(rows, ps.map(refuse), ps.drain()))
    (note,) = caught.value.__notes__
    assert note.startswith("raised in map(refuse)")


@pytest.mark.parametrize(("header", "hinted"), [("item|count", True), ("item", False)])
def test_one_column_is_taken_for_several_if_its_name_is(header, hinted, tmp_path):
    (tmp_path / "a.csv").write_text(f"{header}\ntea\n")
    with pytest.raises(AttributeError) as caught:
        ps.run(ps.pipe(files.read_csv(tmp_path / "a.csv"), ps.map(lambda row: row.price), ps.drain()))
    hint, _ = caught.value.__notes__
    assert hint.startswith("the columns are item")
    assert ("give read_csv a delimiter=" in hint) is hinted


def raises(value):
    raise ValueError(value)


def decides(value):
    if value:
        return None
    return value


def far():
    """A function that returns a constant with many others before it."""
    lines = "".join(f"    value += {number}\n" for number in range(1000, 1255))
    exec(f"def far(value):\n{lines}    return 'far'", found := {})
    return found["far"]


MAY_RETURN = [lambda _: None, lambda value: value or None, far(), raises, decides, print, operator.not_]


@pytest.mark.parametrize("function", MAY_RETURN)
def test_a_function_that_may_return_something_is_not_refused(function):
    """One constant key is meant, say; and what is not written in Python shows no code."""
    assert ps.filter(function)
    assert ps.unique(function)


async def test_a_listener_that_comes_after_the_end_is_remarked(caplog):
    news = ps.broadcast(1)
    await news.send(1)
    news.end()
    async with ps.pipe(news.listen(), ps.collect()).open() as running:
        assert await running.result() == []
    (message,) = caplog.messages
    assert "Open the listeners before you send" in message


def test_the_traceback_of_a_refused_call_is_the_user_s(monkeypatch):
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


@pytest.mark.parametrize(
    ("work", "hint"),
    [
        (None, "opens None, but must open a kernel"),
        (FailsToRelease, r"Call the class: opens\(FailsToRelease\(...\)\)"),
        (ps.map(str), "has no decorator"),
        (SimpleNamespace(produce=abs), "inherit ps.authoring.Kernel"),
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
            lambda: ps.map(str, [1]),
            (
                "takes 1 argument by position, but got 2. Write map(function, on_error=...). "
                "Its values come from the module above it: pipe(values(...), map(...))"
            ),
        ),
        (lambda: ps.take(count=3), "has no argument 'count'. Write take(what, last=..., ahead=..., on_error=...)"),
        (ps.map, "needs the argument 'function'. Write map(function, on_error=...)"),
        (
            lambda: ps.retry(times=3),
            (
                "needs the argument 'source'. retry is not a transformer: a pipe begins with it, and it reads the "
                "sources in its arguments. Write retry(source, times=..., delay=..., backoff=..., reset_after=..., "
                "on=..., resume=..., skip_delivered=...)"
            ),
        ),
        (
            lambda: ps.run(ps.pipe(ps.once(1), ps.drain()), chek=True),
            (
                "has no argument 'chek'; did you mean check=? Write run(pipeline, limit=..., release_timeout=..., "
                "check=..., beside=..., journal=..., trace=...)"
            ),
        ),
        (lambda: ps.agg.mean(off=len), "has no argument 'off'; did you mean of=? Write mean(of=...)"),
    ],
)
def test_arguments_that_do_not_fit_are_answered_with_how_the_call_is_written(call, told):
    with pytest.raises(ps.CompositionError) as caught:
        call()
    assert str(caught.value).partition(" at ")[2].partition(" ")[2] == told


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


async def opened(source, wait):
    async with ps.pipe(source, ps.drain()).open() as running:
        await wait(running)


async def read(source):
    async with ps.aiterate(source) as values:
        await iterated(values)


WAYS = {
    "run": lambda source: ps.run(ps.pipe(source, ps.drain())),
    "open": lambda source: trio.run(opened, source, lambda running: running.result()),
    "open alone": lambda source: trio.run(opened, source, lambda _: trio.sleep_forever()),  # noqa: ASYNC105
    "arun": lambda source: asyncio.run(ps.arun(ps.pipe(source, ps.drain()))),
    "iterate": lambda source: [*ps.iterate(source)],
    "aiterate": lambda source: trio.run(read, source),
}


@pytest.mark.parametrize("how", WAYS)
def test_a_traceback_is_the_user_s(how, monkeypatch):
    """Between the line that runs and the function that raised a user has nothing to look for."""

    def price(record):
        return found_in(record)

    def found_in(record):
        return record["price"]

    source = ps.pipe(ps.values(RECORDS), ps.map(price), ps.count_by_key())
    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(KeyError) as short:
        WAYS[how](source)
    monkeypatch.setenv("PULLSTREAM_TRACEBACK", "full")
    with pytest.raises(KeyError) as full:
        WAYS[how](source)
    kept = frames_of(short.value)
    assert kept[-2:] == [__name__.partition(".")[0]] * 2
    assert "pullstream" not in kept
    assert frames_of(full.value).count("pullstream") > 8


@ps.source
async def one_and_no_more(ctx):
    yield 1
    await trio.sleep_forever()


def interrupts(value):
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
    return value


def in_the_body(_):
    for value in ps.iterate(ps.values([1])):
        interrupts(value)


@pytest.mark.parametrize("how", [*WAYS.values(), in_the_body], ids=[*WAYS, "in the body"])
def test_the_traceback_of_ctrl_c_is_the_user_s(how, monkeypatch):
    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(KeyboardInterrupt) as caught:
        how(ps.pipe(one_and_no_more(), ps.map(interrupts)))
    kept = frames_of(caught.value)
    assert kept[0] == "tests"
    assert "pullstream" not in kept


def test_a_traceback_has_no_frames_of_contextlib(monkeypatch):
    @contextmanager
    def opened():
        yield
        raise KeyError

    def price(record):
        with opened():
            return record

    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(KeyError) as caught:
        ps.run(ps.pipe(ps.values(RECORDS), ps.map(price), ps.drain()))
    assert set(frames_of(caught.value)) == {__name__.partition(".")[0]}


def test_a_traceback_does_not_show_a_cancellation(monkeypatch):
    """Who cancelled what is the program's, or the toolkit's; the exception remains in the chain."""

    async def cleans_up(value):
        with trio.move_on_after(0):
            try:
                await trio.sleep_forever()
            finally:
                raise OSError(value)

    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(OSError) as caught:
        ps.run(ps.pipe(ps.values([1]), ps.map_async(cleans_up, 1), ps.drain()))
    assert isinstance(caught.value.__context__, trio.Cancelled)
    assert "Cancelled" not in "".join(traceback.format_exception(caught.value))


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


# ---- slips that only the run can see

MICROSECONDS = ps.values([60_000_000, 70_000_000], time=lambda n: n)
"""Times as a TIMESTAMP column has them."""


@ps.source
async def gives(ctx, answer):
    yield answer


@ps.transformer
async def answers(upstream, ctx, answer):
    async for batch in ctx.batches(upstream):
        yield answer(batch)


@ps.transformer
async def does(upstream, ctx, body):
    await body(upstream, ctx)
    yield


@ps.transformer
class Text(ps.authoring.Kernel[str]):
    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        return batch if batch is ps.DONE else ps.Batch(batch.time, "tea")


@ps.transformer
class NoAsync(ps.authoring.Kernel[int]):
    def produce(self, limit):
        return ps.Batch(0, [1])


@ps.source
class EndsWithoutAsync(ps.authoring.Kernel[int]):
    def produce(self, limit):
        return ps.DONE


@ps.transformer
class ForgetsAwait(ps.authoring.Kernel[int]):
    async def produce(self, limit):
        return self.upstream.ask(limit)


@ps.source
class Odd(ps.authoring.Kernel):
    def __init__(self, answer):
        self.answer = answer

    async def produce(self, limit):
        return self.answer


@ps.transformer
class LeavesOut(ps.authoring.Kernel[int]):
    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        return ps.Batch(batch.time, [])


async def iterates_the_reader(upstream, ctx):
    async for _ in upstream:
        pass


async def iterates_a_batch(upstream, ctx):
    for _ in await upstream.ask():
        pass


async def counts_a_batch(upstream, ctx):
    len(await upstream.ask())


async def loops_over_the_reader(upstream, ctx):
    for _ in upstream:
        pass


async def sleeps_in_asyncio(upstream, ctx):
    await asyncio.sleep(1)


async def forgets_async(upstream, ctx):
    for _ in ctx.batches(upstream):
        pass


async def ignores_the_end(upstream, ctx):
    while True:
        (await upstream.ask()).values.index(1)


async def emits(upstream, ctx):
    ctx.emit(await upstream.ask())


async def awaits_a_request(upstream, ctx):
    await ctx.notify_at((await upstream.ask()).time)


async def stops(upstream, ctx):
    raise StopIteration


THREE, LETTER = ps.values([3], time=int), "letter by letter: .*a list of one, "
ZONES = [datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=UTC)]  # noqa: DTZ001 - the case


@ps.source
class DropsTooSoon(ps.authoring.Kernel):
    traits = ps.authoring.Traits(follows=True)

    async def acquire(self):
        self.location.hold(3)
        self.location.drop_capability()

    async def produce(self, limit):
        self.location.drop(3)
        return ps.Batch(3, [1])


CLOSED = half(1)
CLOSED.close()

SLIPS = [
    (ps.values("ab", time={"a": 1}.get), r"'b' has no time[\s\S]*raised in values"),
    (ps.values([1], time=lambda value: [value]), r"\[1\] cannot be a time[\s\S]*raised in values"),
    (ps.pipe(ps.values(ZONES), ps.stamp(lambda time: time)), "with a time zone and one without"),
    (ps.pipe(ps.values([1]), ps.map_async(str, 2)), "Use map"),
    (ps.pipe(ps.once(3), ps.split()), "text or bytes"),
    (ps.pipe(ps.values(["a", b"b"]), ps.split()), r"split needs .* all of one kind, .* but got b'b'"),
    (ps.pipe(ps.values("ab"), ps.split(b";")), "split needs .* that of its separator, but got 'a'"),
    (ps.pipe(ps.once("a"), ps.decode()), "already text"),
    (ps.pipe(ps.once(3), ps.decode()), "decode needs bytes, but got 3"),
    (ps.pipe(ps.once(1), ps.map_time(lambda day: [day])), r"map_time, .* returned \[0\] for the time 0, .* hashable"),
    (
        ps.pipe(ps.values(ZONES[:1], time=lambda time: time), ps.tumbling(timedelta(1), origin=ZONES[1])),
        r"Times must be of the type of origin=datetime",
    ),
    (
        ps.pipe(ps.values(["2026-01-01"], time=str), ps.tumbling(timedelta(1))),
        r"to the time '2026-01-01' \(str\).* Put map_time\(datetime.fromisoformat\) above it",
    ),
    (
        ps.pipe(ps.values(ZONES[:1], time=lambda time: time), ps.tumbling(60)),
        r"Pass a timedelta: timedelta\(seconds=60\), if 60 is in seconds\n",
    ),
    (ps.pipe(ps.merge(ps.values([3]), ps.values([2])), ps.stamp(int)), "back in time.*Below merge, put a stamp into"),
    (
        ps.pipe(ps.merge(ps.values([30]), ps.values([2])), ps.stamp(int, lateness=1)),
        r"too late: .*Below merge, put a stamp into each source instead\n",
    ),
    (ps.pipe(ps.values([{}]), ps.unique()), r"unhashable[\s\S]*a key must be hashable[\s\S]*at the value {}"),
    (
        ps.pipe(ps.once(1), ps.flat_map(lambda n: n)),
        "for each value, but got 1: put a single value into a list",
    ),
    (
        ps.pipe(ps.once(1), ps.flat_map(lambda _: without_run("tea"))),
        r"got <async_generator object without_run at \w+>: from_async_iterable\(...\) makes a source of it",
    ),
    (
        ps.pipe(ps.once(1), ps.flat_map(lambda _: CLOSED)),
        r"got <coroutine [\s\S]*call it with map_async\(f, concurrency\)",
    ),
    (
        ps.pipe(ps.once(1), ps.reduce_by_time(ps.agg.sum(lambda _: CLOSED))),
        r"and 'coroutine'[\s\S]*call it with map_async",
    ),
    (ps.pipe(ps.once(1), ps.map_thread(lambda _: CLOSED, 1)), r"a sync function[\s\S]*async function, use map_async"),
    (ps.pipe(ps.once(1), ps.tumbling(1), ps.map(lambda window: window[0])), r"'Window'[\s\S]*window is window.value"),
    (ps.pipe(ps.once(1), ps.map_batches(sum)), r"got 1: return a list \(or another iterable\) for each list\n"),
    (ps.pipe(ps.once(1), ps.map_batches(lambda values: values.sort())), r"got None: .* list.sort\(\), return None"),
    # In a loop, times belong to the loop.
    *(
        (
            ps.pipe(ps.values([1, 2]), ps.loop(body)),
            f"{told}[\\s\\S]*times inside a loop belong to the loop: assign times",
        )
        for body, told in [
            (ps.pipe(ps.map(ps.Again), ps.stamp(lambda _: 7)), "loop, .* got 7 as a time"),
            (ps.map_time(lambda _: 7), "loop, .* got 7 as a time"),
            (ps.stamp(lambda n: n, nest=True), r"loop, .* got \(LoopTime\(0, \(0,\)\), 1\) as a time"),
            (ps.sessions(1), "sessions, .* cannot add 1"),
        ]
    ),
    (
        ps.pipe(ps.values([1, 2], time=int), ps.loop(ps.pipe(ps.stamp(int), ps.skip(2)))),
        r"stamp, .* its input is at LoopTime\(1, \(0,\)\), and times inside a loop belong to the loop",
    ),
    # What a module answers.
    (gives(ps.Batch(("tea", "rice"), "monday")), r"the time comes first, Batch\('monday', \('tea', 'rice'\)\)"),
    (gives(ps.Batch("monday", "tea")), LETTER + r"Batch\('monday', \['tea'\]\)"),
    (ps.pipe(ps.values([1, 2, 3]), Text()), LETTER + r"Batch\(0, \['tea'\]\)"),
    (ps.pipe(THREE, NoAsync()), r"write `async def produce\(self, limit\):`"),
    (Odd(None), r"^R2: Odd, composed at .*test_messages.py.*answers Batch"),
    (Odd(7), "answers Batch"),
    (ps.pipe(THREE, ForgetsAwait()), "answered a coroutine: write `await` before the call of Lane.ask"),
    (EndsWithoutAsync(), r"write `async def produce\(self, limit\):`"),
    (Odd(ps.Batch(0, [0] * 5000)), "answered 5000 values to an ask for 1 to 16"),
    (ps.pipe(THREE, LeavesOut()), "0 values to an ask .* Ask upstream again"),
    (gives(ps.Batch([1], 0)), r"Batch\(0, \[1\]\)"),
    (gives(ps.Batch(0, iter([7]))), r"Batch\(0, list\(...\)\)"),
    (gives(ps.Batch((0, 1), {"tea": 7})), r"Batch\(\(0, 1\), \[{'tea': 7}\]\)"),
    (
        ps.pipe(THREE, answers(lambda batch: ps.Batch(batch.time - 1, [1]))),
        r"at 2, but may not: .* current batch is at 3\. To answer at 2 later",
    ),
    (
        ps.pipe(ps.values([0, 1], time=abs), answers(lambda batch: ps.Batch(0, [1]))),
        "at 0, but may not: it holds nothing, and its current batch is at 1",
    ),
    (ps.pipe(THREE, answers(lambda batch: batch.values[0])), r"here Batch\(batch\.time, \[3\]\)"),
    (ps.pipe(THREE, answers(lambda batch: ps.Completed(batch.time))), "and no completion"),
    (ps.pipe(THREE, answers(lambda batch: ps.Batch(batch.time, set(batch.values)))), r"Batch\(3, list\(...\)\)"),
    # What a module does with its upstream.
    *(
        (ps.pipe(ps.values([1]), does(body)), told)
        for body, told in [
            (iterates_the_reader, r"ctx\.batches\(upstream\)"),
            (iterates_a_batch, r"write `for value in batch\.values`"),
            (counts_a_batch, r"write len\(batch\.values\)"),
            (loops_over_the_reader, r"read with `async for batch in ctx\.batches\(upstream\)`"),
            (sleeps_in_asyncio, r"a module runs under trio, as in trio\.sleep\(1\); to call asyncio code, use"),
            (forgets_async, r"write `async for batch in ctx\.batches\(upstream\)`"),
            (ignores_the_end, r"answered with ps\.DONE"),
        ]
    ),
    # Durations; of a TIMESTAMP column times are whole numbers, whose unit no timedelta knows.
    *(
        (stream, "TIMESTAMP column, the duration is 30_000_000")
        for stream in [
            ps.pipe(MICROSECONDS, ps.tumbling(timedelta(seconds=30))),
            ps.pipe(MICROSECONDS, ps.sliding(timedelta(seconds=30), timedelta(seconds=10))),
            ps.pipe(MICROSECONDS, ps.sessions(timedelta(seconds=30))),
            ps.pipe(MICROSECONDS, ps.delay(timedelta(seconds=30))),
            ps.join(MICROSECONDS, MICROSECONDS, on=str, within=timedelta(seconds=30)),
            ps.pipe(ps.values([60_000_000]), ps.stamp(lambda n: n, lateness=timedelta(seconds=30))),
        ]
    ),
    # What a user's function does with a value, or does not return.
    (ps.pipe(ps.values([(1, 2)]), ps.map(lambda one, other: one)), r"lambda parts: f\(\*parts\)"),
    (ps.pipe(ps.values([1]), ps.map_async(ps.asyncio_call(str), 2)), "'1'. Use map"),
    (ps.pipe(ps.values("ab"), ps.reduce_by_time(ps.agg.sum())), r"concat_values\(str\)"),
    (ps.pipe(ps.values([timedelta(1)]), ps.reduce_by_time(ps.agg.sum())), r"agg\.sum\(start=timedelta\(\)\)"),
    (ps.pipe(ps.values([1, None]), ps.reduce_by_time(ps.agg.sum())), "is not None"),
    (
        ps.pipe(ps.values([1, 2]), ps.reduce_by_time(ps.Fold(list, lambda found, value: found.append(value)))),
        "found is None: the step of a fold must return the new state",
    ),
    (ps.unfold(0, lambda state: state + 1), r"unfold returned 1\. It must return a pair \(value, next_state\)"),
    (ps.unfold(0, lambda state: (0, 1, 2)), r"unfold returned \(0, 1, 2\)\. It must return a pair"),
    (ps.unfold(0, lambda state: half(state + 1)), "returned a coroutine, which is not awaited"),
    (ps.pipe(ps.values([7]), ps.map(lambda n: n.date)), r"datetime\.fromtimestamp\(row\.at / 1_000_000, UTC\)"),
    (ps.pipe(ps.values([7]), ps.map(lambda n: n.price)), r"'price'\nraised in map"),
    (ps.values(["9:00", "10:00"], time=str), "letter by letter"),
    (ps.merge(ps.values([1], time=int), ps.values("a", time=str)), r"times of one type, with time=, stamp"),
    (ps.pipe(ps.values(RECORDS), ps.map(lambda record: record.price)), r"write value\['price'\]"),
    (ps.pipe(ps.values([{}, {"a": 1}]), ps.sort_by_time()), "no common order: give a key"),
    (ps.pipe(ps.values(RECORDS), ps.map(lambda record: record["prise"])), r"did you mean the key 'price'\?"),
    # What a module does with ctx and with events.
    (ps.pipe(THREE, answers(lambda batch: batch.items)), r"its parts are batch\.time and batch\.values"),
    (ps.pipe(THREE, does(lambda upstream, ctx: ctx.batches())), r"write ctx\.batches\(upstream\)"),
    (ps.pipe(THREE, does(lambda upstream, ctx: upstream.read())), r"await upstream\.ask\(limit\)"),
    (ps.pipe(THREE, answers(lambda batch: (batch.time, [1]))), r"here Batch\(3, \[1\]\)"),
    (ps.pipe(THREE, answers(lambda batch: half(1))), "write await in front of the call"),
    (ps.pipe(THREE, answers(lambda batch: [*batch])), "its parts are batch.time and batch.values"),
    (ps.pipe(THREE, answers(lambda batch: ps.Batch(ps.Completed(batch.time), [1]))), "its time is event.time"),
    (ps.pipe(THREE, answers(lambda batch: ps.Completed(batch.time).values)), r"case ps\.Completed\(time\)"),
    (DropsTooSoon(), r"at the next produce, drop\(time\)"),
    (ps.pipe(ps.values([1, 2]), does(emits)), r"yield Batch\(time, values\)"),
    (ps.pipe(ps.values([1, 2]), does(awaits_a_request)), "is written without await"),
    (ps.pipe(ps.values([1, 2]), does(stops)), "to end a generator, write return"),
    (ps.pipe(ps.values([1]), ps.tumbling(timedelta(minutes=5))), "Values without an assigned time are at 0"),
]


@pytest.mark.parametrize(("stream", "told"), SLIPS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_slip_in_a_run_is_answered_with_what_to_write(stream, told):
    """By the exception, or by its notes where Python's own words name what the user has never seen."""
    with pytest.raises(
        (TypeError, LookupError, AttributeError, RuntimeError, ps.PullstreamError, TimelyError)
    ) as caught:
        ps.run(ps.pipe(stream, ps.drain()))
    assert re.search(told, "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())]))


# ---- slips that break no rule, and are remarked


@ps.transformer
async def waits_for_what_it_never_requested(upstream, ctx):
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Completed):
            yield ps.Batch(event.time, [1])


@ps.sink
async def forgets_with(upstream, ctx):
    async for batch in ctx.batches(upstream):
        ctx.hold(batch.time)
        with ctx.hold(batch.time):
            pass


@ps.transformer
async def reads_no_events(upstream, ctx):
    async for batch in ctx.batches(upstream):
        ctx.notify_at(batch.time)
        yield batch


@ps.transformer
async def retries(upstream, ctx):
    for _ in range(3000):
        try:
            batch = await upstream.ask()
            yield ps.Batch(batch.time, batch.values)
        except AttributeError:
            pass


def fails(n):
    raise OSError(n)


@ps.transformer
async def swallows(upstream, ctx):
    try:
        async for batch in ctx.batches(upstream):
            yield batch
    except OSError:
        pass


WINDOWS = [ps.tumbling(60), ps.sliding(60, 30), ps.sessions(60)]


async def blocks(n):
    time.sleep(0.15)  # noqa: ASYNC251 - the slip
    return n


@pytest.mark.parametrize(
    ("rest", "module", "told"),
    [
        ((waits_for_what_it_never_requested(), ps.drain()), "waits_for_what_it_never_requested", "ctx.notify_at(time)"),
        ((forgets_with(),), "forgets_with", "`with ctx.hold(time):`"),
        ((reads_no_events(), ps.drain()), "reads_no_events", "ctx.events(upstream)"),
        ((retries(), ps.drain()), "retries", "has asked values 1000 times after the end"),
        ((ps.map_async(blocks, 4), ps.drain()), "map_async", "map_thread"),
        ((ps.map(fails), swallows(), ps.drain()), "swallows", "its upstream had failed with OSError(0)"),
        ((ps.map(fails), ps.catch(), ps.drain()), "catch", "had failed with OSError(0)"),
        ((ps.map(fails, on_error="skip"), ps.drain()), "map -> on_error", "all 8 values, because its function raised"),
        ((ps.stamp(abs), ps.windowed(2), ps.drain()), "windowed", "map_time(lambda _: 0)"),
        *(((window, ps.drain()), window.modules[0].name, "stamp(...)") for window in WINDOWS),
        ((ps.loop(ps.map(lambda n: ps.Again(n + 1) if n < 99 else n)), ps.drain()), "loop ingress", "round 20 times"),
    ],
)
def test_a_slip_that_breaks_no_rule_is_remarked_once(rest, module, told, caplog, monkeypatch):
    monkeypatch.setattr("pullstream.modules.nested.loop.MANY", 20)
    ps.run(ps.pipe(ps.values(range(8)), *rest))
    (message,) = caplog.messages
    assert message.startswith(f"{module}, composed at")
    assert told in message
    assert ("the last exception was OSError(7)" in message) == ("on_error" in module)


def test_values_reported_as_skipped_and_passed_on_are_not_remarked(caplog):
    @ps.transformer
    async def miscounts(upstream, ctx):
        async for batch in ctx.batches(upstream):
            ctx.skipped(len(batch.values))
            yield batch

    assert ps.run(ps.pipe(ps.values([1, 2]), miscounts(), ps.collect())) == [1, 2]
    assert not caplog.messages


@ps.source
async def interval(ctx):
    """Yield one value, and end: only its name is that of a source that never ends."""
    yield 1


ENDLESS = [
    (ps.integers(), ps.collect()),
    (ps.integers(time=abs), ps.reduce_by_time(ps.agg.count()), ps.reduce(ps.agg.count())),
    (ps.interval(1), ps.map(str, on_error="skip"), ps.count_by_key(str), ps.take(2), ps.drain()),
    (ps.interval(1), ps.map(str), files.write_text("a.txt")),
    (ps.repeat(1), ps.sort_by_time(), ps.drain()),
    (files.read_text("a.txt", follow=True), ps.concat_values()),
    (ps.interval(1), ps.skip(2), ps.unique_by_time(), ps.tumbling(3), ps.drain()),
]
ENDING = [
    (ps.integers(), ps.take(2), ps.collect()),
    (ps.integers(), ps.find(bool)),
    (ps.integers(), ps.stamp_epochs(2), ps.reduce_by_time(ps.agg.count()), ps.drain()),
    (ps.integers(time=abs), ps.sort_by_time(), ps.drain()),
    (ps.repeat(1, 2), ps.collect()),
    (ps.values([1]), ps.collect()),
    (files.read_text("a.txt"), ps.concat_values()),
    (interval(), ps.collect()),
    (ps.interval(1), ps.reduce_by_time(ps.agg.count(), eager=True), ps.drain()),
    (files.read_text("a.txt", follow=True), ps.sort_by_time(), ps.drain()),
    (files.read_text("a.txt", follow=False), ps.collect()),
]


@pytest.mark.parametrize(
    ("parts", "told"), [(parts, "never") for parts in ENDLESS] + [(parts, "^$") for parts in ENDING], ids=str
)
def test_an_endless_source_into_a_module_that_waits_for_the_end_is_told(parts, told):
    """Where the composition shows that no result can come; what may end is not mentioned."""
    assert re.search(told, never_gives(ps.pipe(*parts)))


def test_every_transformer_says_when_it_emits():
    """Except those that may end the stream, or that do as the parts in their arguments do: no new one is forgotten."""
    subjects = [subject for subject in TRANSFORMERS if not (subject.around or subject.resource)]
    modules = [module for subject in subjects for module in subject.make().modules]
    unknown = {module.name for module in modules if Emits.of(module) is Emits.UNKNOWN}
    ends = {"take", "take_times", "timeout", "catch", "abortable"}
    assert unknown == ends | {"pausable", "loop", "worker_pool"}


def test_an_endless_run_is_remarked_when_it_begins(caplog):
    async def aside(running):
        await running.finish()

    endless = ps.pipe(ps.integers(), ps.collect())
    ps.run(endless, beside=aside)
    assert not caplog.messages
    with pytest.raises(OSError):
        ps.run(ps.pipe(ps.integers(), ps.map(fails), ps.collect()))
    (message,) = caplog.messages
    assert "integers() never ends" in message


@ps.source
async def every_second(ctx):
    while True:
        yield "tick"
        await trio.sleep(1)


def never_left():
    async def forever(_):
        await trio.sleep_forever()

    return ps.map_async(forever, 3)


@pytest.mark.parametrize(
    "module",
    [
        never_left(),
        ps.worker_pool(never_left(), never_left(), never_left()),
        ps.pipe(ps.map(lambda _: every_second()), ps.flatten(concurrency=3)),
        ps.group_by(lambda n: n, lambda _: never_left()),
    ],
    ids=["map_async", "worker_pool", "flatten", "group_by"],
)
async def test_a_failure_that_is_not_raised_for_long_is_logged(module, caplog, autojump_clock):
    source = ps.concat(ps.values([1, 2]), ps.fail(OSError("line is dead")))
    async with ps.pipe(source, module, ps.drain()).open() as running:
        await trio.sleep(9)
        assert not caplog.records
        await trio.sleep(20)
        (line,) = caplog.messages
        assert "upstream failed with OSError('line is dead') 10 s ago" in line
        assert "failed with OSError('line is dead') at" in "\n".join(map(str, running.progress.explain(0)))
        await running.abort()
    with pytest.raises(OSError, match="line is dead"):
        await ps.arun(ps.pipe(source, ps.map_async(trio.sleep, 2), ps.drain()))
    assert len(caplog.messages) == 1


def test_what_is_right_is_not_remarked(caplog):
    """Events without a request where something is answered, or nothing came, and calls that wait as trio does."""
    assert ps.run(ps.pipe(ps.values([1, 2]), answers(lambda batch: batch), ps.collect())) == [1, 2]
    assert ps.run(ps.pipe(ps.values([]), waits_for_what_it_never_requested(), ps.collect())) == []
    ps.run(ps.pipe(ps.values([0.2] * 4), ps.map_async(trio.sleep, 2), ps.drain()))
    ps.run(ps.pipe(ps.values([1, 1, 1, 2], time=abs), ps.windowed(2, 3), ps.drain()))
    ps.run(ps.pipe(ps.values([1]), ps.windowed(2), ps.drain()))
    for values, window in product([[0, 0, 1], [5], [0]], WINDOWS):
        ps.run(ps.pipe(ps.values(values, time=abs), window, ps.drain()))
    assert not caplog.messages
