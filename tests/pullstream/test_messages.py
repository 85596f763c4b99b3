"""Messages about mistakes that only a run can see: the module, the problem, and what to write instead.

`test_refusals.py` has mistakes that are found when composing.
"""

import asyncio
import math
import operator
import re
import signal
import threading
import traceback
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream import files
from pullstream.authoring import Notified
from pullstream.blueprint import Emits
from pullstream.conformance.ready import TRANSFORMERS
from pullstream.errors import SketchesMissing, of_extra
from pullstream.program.endless import never_gives
from tests.pullstream.common import PassesOn, after, endless, never, run, script
from tests.pullstream.edge.test_lanes import OneThenEnough
from tests.pullstream.test_conformance import swallows
from timely import TimelyError


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


async def test_a_run_is_entered_once():
    async with ps.pipe(ps.values([1]), ps.collect()).open() as running:
        with pytest.raises(ps.errors.ReuseError, match="open"):
            await running.__aenter__()
        with pytest.raises(ps.PullstreamError, match="has not ended"):
            running.outcome()
        assert await running.result() == [1]
    async with (block := ps.aiterate(ps.values([1]))) as values:
        with pytest.raises(ps.errors.ReuseError, match=r"aiterate\(\)"):
            await block.__aenter__()
        assert [value async for value in values] == [1]


def test_asyncio_calls_name_asyncio_call():
    for seconds, concurrency in ((0, 2), (0.001, 2), (0, 1)):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            ps.run(ps.pipe(ps.once(seconds), ps.map_async(asyncio.sleep, concurrency), ps.drain()))
        hint, where = caught.value.__notes__
        assert "map_async(asyncio_call(f), concurrency)" in hint
        assert where.startswith("raised in map_async")
        assert "at the value TypeError" not in where
        ps.run(ps.pipe(ps.once(seconds), ps.map_async(ps.asyncio_call(asyncio.sleep), 2), ps.drain()))


async def awaited(module):
    await module


async def iterated(module):
    async for _ in module:
        pass


@pytest.mark.parametrize(
    ("use", "words"),
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
        (lambda source: list(ps.aiterate(source)), r"plain `for` is for iterate\(source\)$"),
        (lambda source: ps.pipe(source, ps.drain()).open().__enter__(), r"async with pipeline\.open\(\)"),
    ],
)
def test_habits_from_other_libraries_are_explained(use, words):
    with pytest.raises((TypeError, AttributeError), match=words):
        use(ps.values([1]))


@pytest.mark.parametrize(("module", "shown"), [("absent_package.part", False), ("json.absent_part", True)])
def test_a_missing_package_is_a_single_error(module, shown):
    """A package without the part is there, but too old or damaged: Python's error says more."""
    with pytest.raises(SketchesMissing, match="is not installed: `pip install 'pullstream\\[sketches\\]'`") as caught:
        of_extra("sketches", module, SketchesMissing)
    assert (caught.value.__cause__ is not None) == shown
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("opens", [lambda source: ps.pipe(source, ps.collect()).open(), ps.aiterate])
def test_opening_without_trio_says_what_to_call(opens):
    async def opened():
        async with opens(ps.values([1])):
            pass

    with pytest.raises(
        ps.PullstreamError, match=r"trio program.* run\(pip.* iterate\(source\).* `await arun\(pipeline\)`"
    ):
        asyncio.run(opened())


@pytest.mark.parametrize(
    ("make", "call"),
    [
        *product([ps.pushable, ps.broadcast], [lambda handle: handle.end(), lambda handle: handle.advance(1)]),
        (ps.pushable, lambda orders: orders.push_nowait("tea")),
        (ps.pushable, lambda orders: asyncio.run(orders.push("tea"))),
        (ps.pushable, lambda orders: asyncio.run(orders.push_many(["tea"]))),
        (ps.broadcast, lambda news: asyncio.run(news.send("tea"))),
    ],
)
async def test_a_handle_in_another_thread_says_what_to_do(make, call):
    handle = make(3)
    source, push = (handle, handle.push) if make is ps.pushable else (handle.listen(), handle.send)
    async with ps.pipe(source, ps.collect()).open() as running:
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ps.PullstreamError, match=r", made at .*from_thread.*from_callback"):
            await trio.to_thread.run_sync(call, handle)
        await trio.to_thread.run_sync(trio.from_thread.run, push, "rice")
        handle.end()
        assert await running.result() == ["rice"]


@pytest.mark.parametrize(
    "push",
    [
        lambda: ps.pushable(1).push("tea"),
        lambda: ps.pushable(1).push_many(["tea"]),
        lambda: ps.broadcast(1).send("tea"),
    ],
)
def test_a_handle_under_asyncio_says_what_to_use(push):
    """Also before its run is open, when it belongs to no thread yet."""
    with pytest.raises(ps.PullstreamError, match=r"(pushable|broadcast), made at .*Under asyncio,.* from_"):
        asyncio.run(push())


class FailsToRelease(PassesOn):
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


async def fails_at_last(upstream, ctx):
    try:
        async for batch in ctx.batches(upstream):
            yield batch
    finally:
        raise ValueError("finally")


async def keeps_going(upstream, ctx):
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
    """A source of two values, and a module whose release fails."""
    return ps.pipe(ps.values([1, 2]), ps.transformer(module)(), ps.map(str))


ONE = ps.pipe(ps.values([1]), ps.map_async(after(0.01), 1))


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
        ((above(keeps_going), ps.take(1), ps.collect()), ["keeps_going"]),
        ((ps.merge(above(FailsUnderWay), ONE), ps.take(1), ps.collect()), ["FailsUnderWay"]),
        ((above(fails_at_last), ps.collect()), ["fails_at_last"]),
        ((closes_badly(), ps.transformer(OneThenEnough)(None), ps.collect()), ["closes_badly"]),
        ((ps.merge(endless([], OSError("line is dead")), ONE), ps.take(2), ps.collect()), ["endless"]),
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
    """An iterator of two values, then a failure; its repr is not a value."""

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
    # Their last variable is a default, an argument of `functools.partial`, or one that is assigned.
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
    # For an iterator and for `unfold` it would be the previous value.
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
def test_a_failure_names_its_value_or_none(stream, values):
    with pytest.raises((KeyError, ZeroDivisionError, OSError, ExceptionGroup)) as caught:
        ps.run(stream if isinstance(stream, ps.Pipeline) else ps.pipe(stream, ps.drain()))
    (note,) = caught.value.__notes__
    assert note.startswith(f"raised in {stream.modules[-1].name}")
    assert re.findall("at the value (.*)", note) == values


@pytest.mark.parametrize("results", [5, 0, None, (n for n in [1])])
@pytest.mark.parametrize("early", [False, True])
def test_results_must_be_a_sequence(results, early):
    """Python's own error is about `len()`, which an author has not called; and 0 would be lost."""

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


MANY_COLUMNS = ",".join(f"price{number}" for number in range(300)) + "\n" + ",".join("1" * 300)
AT_MAP = r"raised in map\([\s\S]*"


@pytest.mark.parametrize(
    ("text", "options", "function", "notes"),
    [
        (
            "item,count\ntea,0",
            {},
            lambda row: row["item"],
            rf"a row is a named tuple: write row\.item, .*\n{AT_MAP} at the value Row\(item='tea', count=0\)",
        ),
        (
            "item\ntea",
            {"as_": "batches"},
            lambda batch: batch.item,
            rf".*for rows, leave out as_='batches' where they are read\n{AT_MAP}",
        ),
        (
            MANY_COLUMNS,
            {},
            lambda row: row.price_217,
            rf"the columns are price217, .{{0,60}}, \.\.\. \(300\)\n{AT_MAP}",
        ),
        (
            "item|count\ntea",
            {},
            lambda row: row.price,
            rf"the columns are item_count; .*give read_csv a delimiter=\n{AT_MAP}",
        ),
        ("item\ntea", {}, lambda row: row.price, rf"the columns are item\n{AT_MAP}"),
        ("item\ntea", {}, lambda row: 1 // 0, AT_MAP),
    ],
    ids=["a dict", "a record batch", "many columns", "one column for several", "one column", "not about the row"],
)
def test_mistakes_with_rows_of_files_explain_their_columns(text, options, function, notes, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises((TypeError, AttributeError, ZeroDivisionError)) as caught:
        ps.run(ps.pipe(files.read_csv(tmp_path / "a.csv", **options), ps.map(function), ps.drain()))
    assert re.fullmatch(notes, "\n".join(caught.value.__notes__))


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
    """A constant key may be meant, and functions that are not written in Python show no code."""
    assert ps.filter(function)
    assert ps.unique(function)


async def test_a_listener_opened_after_the_end_is_logged(caplog):
    news = ps.broadcast(1)
    await news.send(1)
    news.end()
    assert await ps.arun(ps.pipe(news.listen(), ps.collect())) == []
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
def test_a_changed_batch_is_reported(rest):
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
    """Otherwise its result would fail somewhere in the engine."""

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


def test_methods_that_would_never_run_are_refused():
    """They would return a generator, or a coroutine that nobody awaits, and so do nothing."""
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


@pytest.mark.parametrize(
    ("package", "name", "hint"),
    [
        ("pandas", "DataFrame", r"values\(df.itertuples\(index=False\)\)"),
        ("pyarrow", "Table", r"values\(table.to_pylist\(\)\)"),
        ("pyspark.sql.classic.dataframe", "DataFrame", r"spark.from_dataframe\(df\)"),
    ],
)
def test_a_table_used_as_a_source_names_what_makes_one(package, name, hint):
    """Some can be iterated, which would give the names of their columns."""
    table = type(name, (), {"__module__": package, "__iter__": lambda self: iter(["a"])})()
    with pytest.raises(ps.CompositionError, match=hint):
        ps.pipe(table, ps.collect())
    with pytest.raises(ps.CompositionError, match=r"values\(\) at .* would not iterate a .* by rows: .*" + hint):
        ps.values(table)
    for module in (ps.flat_map(lambda _: table), ps.map_batches(lambda _: table)):
        with pytest.raises(TypeError, match=r"composed at .* column by column, .*" + hint):
            ps.run(ps.pipe(ps.once(1), module, ps.collect()))
    with pytest.raises(TypeError, match=r"flatten, composed at .* column by column, .*" + hint):
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
    """It leaves out frames between the line that runs and the function that raised, and those of contextlib."""

    def price(record):
        with found_in(record) as found:
            return found

    @contextmanager
    def found_in(record):
        yield
        raise KeyError(record)

    source = ps.pipe(ps.values(RECORDS), ps.map(price), ps.count_by_key())
    monkeypatch.delenv("PULLSTREAM_TRACEBACK")
    with pytest.raises(KeyError) as short:
        WAYS[how](source)
    monkeypatch.setenv("PULLSTREAM_TRACEBACK", "full")
    with pytest.raises(KeyError) as full:
        WAYS[how](source)
    kept = frames_of(short.value)
    assert kept[-2:] == [__name__.partition(".")[0]] * 2
    assert not {"pullstream", "contextlib"} & {*kept}
    assert frames_of(full.value).count("pullstream") > 8


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
        how(ps.pipe(script(1, math.inf), ps.map(interrupts)))
    kept = frames_of(caught.value)
    assert kept[0] == "tests"
    assert "pullstream" not in kept


def test_a_traceback_does_not_show_a_cancellation(monkeypatch):
    """Cancellations are internal to the program or the toolkit; the exception remains in the chain."""

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
    """The generator waits at that line; the code that finds the mistake does not matter."""
    with pytest.raises(ps.PullstreamError) as caught:
        ps.run(ps.pipe(source, ps.collect()))
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert frames[-1].line == line
    assert [frame.line for frame in frames].count(line) == 1


# ---- mistakes that only the run can see

THREE = ps.values([3], time=int)
DAYS, HALF = ps.values([1, 2], time=lambda day: date(2026, 3, day)), timedelta(hours=12)
"""Python adds no half days to dates: windows of 36 hours would have one day or two, and count values several times."""
ZONES = [datetime(2026, 1, 1), datetime(2026, 1, 2, tzinfo=UTC)]  # noqa: DTZ001 - the case
ZONELESS = ps.values(ZONES[:1], time=lambda time: time)
MICROSECONDS = ps.values([60_000_000, 70_000_000], time=lambda n: n)
"""Times as in a TIMESTAMP column."""


@ps.transformer
async def answers(upstream, ctx, answer):
    async for batch in ctx.batches(upstream):
        yield answer(batch)


@ps.transformer
async def does(upstream, ctx, body):
    await body(upstream, ctx)
    yield


@ps.transformer
class Produces(ps.authoring.Kernel):
    def __init__(self, answer):
        self.answer = answer

    async def produce(self, limit):
        return self.answer(self.upstream)


@ps.source
class NotAsync(ps.authoring.Kernel):
    def __init__(self, answer):
        self.answer = answer

    def produce(self, limit):
        return self.answer


@ps.transformer
class Forgets(Notified):
    def __init__(self):
        self.totals = {}

    def receive(self, batch):
        pass

    def complete(self, time):
        pass


@ps.source
class ForgetsSources(ps.authoring.FanIn):
    def __init__(self, *sources):
        self.sources = sources

    def poll(self, limit):
        return self.ask_inputs(limit) if self.going else ps.DONE


@ps.transformer
class ForgetsAcquire(ps.authoring.TaskKernel):
    async def acquire(self):
        self.values = 0

    async def produce(self, limit):
        return await self.upstream.ask(limit)


@ps.transformer
class Totals(Notified):
    def __init__(self, receive=lambda totals, time: None, complete=lambda totals, time: None):
        super().__init__()
        self.received, self.completed = receive, complete

    def receive(self, batch):
        for part in self.apart(batch):
            self.notify(part.time, part.time)
            returned = self.received(self, part.time)
        return returned

    def complete(self, time):
        return self.completed(self, time)


@ps.transformer
class Returns(ps.authoring.PerBatch):
    def work(self, out, time, values):
        return list(values)


@ps.transformer
class NotAwaited(ps.authoring.Kernel):
    async def produce(self, limit):
        CLOSED.time  # noqa: B018 - as that of an ask which is not awaited


@ps.source
class DropsTooSoon(ps.authoring.Kernel):
    traits = ps.authoring.Traits(follows=True)

    async def acquire(self):
        self.location.hold(3)
        self.location.drop_capability()

    async def produce(self, limit):
        self.location.drop(3)
        return ps.Batch(3, [1])


async def requests_an_earlier_time(upstream, ctx):
    async for event in ctx.events(upstream):
        ctx.notify_at(event.time - 1)


async def reads_in_two_ways(upstream, ctx):
    async for _ in ctx.events(upstream):
        break
    async for _ in ctx.events(upstream, many=True):
        pass


async def ignores_the_end(upstream, ctx):
    while True:
        (await upstream.ask()).values.index(3)


async def yields():
    yield 1


async def half(n):
    return n / 2


CLOSED = half(1)
CLOSED.close()
LOOPS = "times inside a loop belong to the loop"
SUMS = ps.reduce_by_time(ps.agg.sum())

MISTAKES = [
    (ps.values("ab", time={"a": 1}.get), "'b' has no time", "raised in values"),
    (ps.values([1], time=lambda value: [value]), "[1] cannot be a time", "raised in values"),
    (ps.pipe(ps.values(ZONES), ps.stamp(lambda time: time)), "with a time zone and one without"),
    (ps.map_async(str, 2), "Use map"),
    (ps.split(), "text or all bytes"),
    (ps.pipe(ps.values(["a", b"b"]), ps.split()), "split needs ", "all text or all bytes", "but got b'b'"),
    (ps.pipe(ps.values("ab"), ps.split(b";")), "split needs ", "separator of the same kind, but got 'a'"),
    (ps.pipe(ps.once("a"), ps.decode()), "already text"),
    (ps.decode(), "decode needs bytes, but got 3"),
    (ps.map_time(lambda _: None), "map_time, ", "None"),
    (ps.map_time(lambda day: [day]), "map_time, ", "returned [3] for the time 3, ", "hashable"),
    (ps.values(["ccc", "b", "aa"], time=len), "answered 'b', at 1, ", " Sort it, or ", " downstream (R12)\n"),
    (script(ps.Batch(3, "c"), ps.Batch(1, "b")), "answered 'b', at 1, ", "can take ctx.hold(1) before"),
    (
        ps.pipe(ps.values(["2026-03-01"]), ps.stamp(str, lateness=1)),
        "lateness=1 cannot be subtracted from the time '2026-03-01'",
        "Use numbers, or dates and a timedelta",
    ),
    (ps.pipe(ZONELESS, ps.tumbling(timedelta(1), origin=ZONES[1])), "Times must be of the type of origin=datetime"),
    (
        ps.pipe(ps.values(["2026-01-01"], time=str), ps.tumbling(timedelta(1))),
        "to the time '2026-01-01' (str)",
        "Put map_time(datetime.fromisoformat) upstream",
    ),
    (ps.pipe(ZONELESS, ps.tumbling(60)), "Pass a timedelta: timedelta(seconds=60), if 60 is in seconds\n"),
    (
        ps.pipe(ps.merge(ps.values([3]), ps.values([2])), ps.stamp(int)),
        "back in time",
        "Downstream of merge, put a stamp into each source instead\n",
    ),
    (
        ps.pipe(ps.merge(ps.values([30]), ps.values([2])), ps.stamp(int, lateness=1)),
        "too late: ",
        "Downstream of merge, put a stamp into each source instead\n",
    ),
    (ps.pipe(ps.values([{}]), ps.unique()), "unhashable", "a key must be hashable", "at the value {}"),
    (ps.flat_map(lambda n: n), "for each value, but got 3: put a single value into a list"),
    (ps.flat_map(lambda _: ps.map(str)), "flat_map, ", "for each value, but got map(str): "),
    *(
        (ps.pipe(ps.values([[1], value]), ps.flatten(concurrency=number)), "flatten, ", words)
        for value, words in [
            (7, "neither a source nor"),
            ("text", "characters"),
            (ps.map(str), "neither"),
            (None, "None"),
            (yields(), "map(from_async_iterable)"),
        ]
        for number in (1, 2)
    ),
    (ps.from_awaitable(lambda: 3), "but it returned 3"),
    (ps.flat_map(lambda _: yields()), "got <async_generator object ", "from_async_iterable(...) makes a source"),
    (ps.flat_map(lambda _: CLOSED), "got <coroutine ", "call it with map_async(f, concurrency)"),
    (ps.reduce_by_time(ps.agg.sum(lambda _: CLOSED)), "and 'coroutine'", "call it with map_async"),
    (ps.map_thread(lambda _: CLOSED, 1), "a sync function", "async function, use map_async"),
    (ps.pipe(ps.tumbling(1), ps.map(lambda window: window[0])), "'Window'", "window is window.value"),
    (ps.map_batches(sum), "got 3: return a list (or another iterable) for each list\n"),
    (ps.map_batches(lambda values: values.sort()), "got None: ", "list.sort(), return None"),
    # In a loop, times belong to the loop.
    (ps.loop(ps.pipe(ps.map(ps.Again), ps.stamp(lambda _: 7))), "loop, ", "got 7 as a time", f"{LOOPS}: assign times"),
    (ps.loop(ps.map_time(lambda _: 7)), "loop, ", "got 7 as a time", f"{LOOPS}: assign times"),
    (ps.loop(ps.stamp(abs, nest=True)), "got (LoopTime(3, (0,)), 3) as a time", f"{LOOPS}: assign times"),
    (ps.loop(ps.sessions(1)), "sessions, ", "cannot add 1", f"{LOOPS}: assign times"),
    (
        ps.pipe(ps.values([1, 2], time=int), ps.loop(ps.pipe(ps.stamp(int), ps.skip(2)))),
        f"its input is at LoopTime(1, (0,)), and {LOOPS}",
    ),
    # What a module answers.
    (script(ps.Batch(("tea", "rice"), "monday")), "the time comes first, Batch('monday', ('tea', 'rice'))"),
    (script(ps.Batch("monday", "tea")), "letter by letter: ", "a list of one, Batch('monday', ['tea'])"),
    (Produces(lambda _: ps.Batch(0, "tea")), "letter by letter: ", "a list of one, Batch(0, ['tea'])"),
    (NotAsync(ps.Batch(0, [1])), "write `async def produce(self, limit):`"),
    (NotAsync(ps.DONE), "write `async def produce(self, limit):`"),
    (Produces(lambda _: None), "R2: Produces, composed at ", __file__, "answers Batch"),
    (Produces(lambda _: 7), "answers Batch"),
    (Produces(lambda upstream: upstream.ask()), "answered a coroutine: write `await` before the call of Lane.ask"),
    (Produces(lambda upstream: upstream.ask()), "or poll(limit) in a PolledKernel"),
    (Produces(lambda _: ps.Batch(0, [0] * 5000)), "answered 5000 values to an ask for 1 to 16. Keep the rest for the"),
    (Produces(lambda _: ps.Batch(0, [])), "0 values to an ask ", "Ask upstream again"),
    (script(ps.Batch([1], 0)), "Batch(0, [1])"),
    (script(ps.Batch(0, iter([7]))), "Batch(0, list(...))"),
    (script(ps.Batch((0, 1), {"tea": 7})), "Batch((0, 1), [{'tea': 7}])"),
    (
        answers(lambda batch: ps.Batch(batch.time - 1, [1])),
        "at 2, but may not: ",
        "current batch is at 3. To answer at 2 later",
    ),
    (
        ps.pipe(ps.values([0, 1], time=abs), answers(lambda batch: ps.Batch(0, [1]))),
        "at 0, but may not: it holds nothing, and its current batch is at 1",
    ),
    (answers(lambda batch: batch.values[0]), "here Batch(batch.time, [3])"),
    (answers(lambda batch: None), "yielded None: ", "here Batch(batch.time, [None]); to emit nothing, do not yield"),
    (answers(lambda batch: ps.Completed(batch.time)), "not a completion"),
    (answers(lambda batch: ps.Batch(batch.time, set(batch.values))), "Batch(3, list(...))"),
    (answers(lambda batch: (batch.time, [1])), "here Batch(3, [1])"),
    (answers(lambda batch: half(1)), "write await in front of the call"),
    # What a module does with its upstream, a batch or ctx.
    (does(lambda upstream, ctx: iterated(upstream)), "ctx.batches(upstream)"),
    (does(lambda upstream, ctx: list(upstream)), "read with `async for batch in ctx.batches(upstream)`"),
    (does(lambda upstream, ctx: upstream.read()), "await upstream.ask(limit)"),
    (
        does(lambda upstream, ctx: asyncio.sleep(1)),
        "a module runs under trio, as in trio.sleep(1); to call asyncio code",
    ),
    (does(lambda upstream, ctx: list(ctx.batches(upstream))), "write `async for batch in ctx.batches(upstream)`"),
    (does(lambda upstream, ctx: ctx.batches()), "write ctx.batches(upstream)"),
    (does(lambda upstream, ctx: ctx.emit(1)), "yield Batch(time, values)"),
    (does(lambda upstream, ctx: None), "is written without await"),
    (does(lambda upstream, ctx: next(iter([]))), "to end a generator, write return"),
    (does(ignores_the_end), "answered with ps.DONE"),
    (does(requests_an_earlier_time), "does, ", " 2", "holds nothing", "while a batch at it"),
    (does(reads_in_two_ways), "does, composed at ", "many=True in one place and without it in another"),
    (does(lambda upstream, ctx: ctx.abandon()), "does, composed at ", "is not a sink"),
    (answers(list), "write `for value in batch.values`"),
    (answers(len), "write len(batch.values)"),
    (answers(lambda batch: batch.items), "its parts are batch.time and batch.values"),
    (answers(lambda batch: [*batch]), "its parts are batch.time and batch.values"),
    (answers(lambda batch: ps.Batch(ps.Completed(batch.time), [1])), "its time is event.time"),
    (answers(lambda batch: ps.Completed(batch.time).values), "case ps.Completed(time)"),
    (DropsTooSoon(), "at the next produce, drop(time)"),
    (Forgets(), "Forgets, composed at ", "super().__init__()"),
    (ForgetsSources(THREE, THREE), "ForgetsSources, composed at ", "super().__init__(*sources): call it in ForgetsS"),
    (ForgetsAcquire(), "calls `await super().acquire()` in it first"),
    (Totals(lambda totals, time: totals.notify(time)), "write self.notify(time, time)"),
    (Totals(lambda totals, time: totals.location.drop(time)), "Totals, ", "Call drop(time) once for each hold(time)"),
    (Totals(lambda totals, time: ps.Batch(time, [1])), "Totals, ", "receive returned Batch(", "Write give(time, "),
    (Totals(complete=lambda totals, time: [1]), "Totals, ", "complete returned [1], which would be lost. Write give("),
    (Totals(complete=lambda totals, time: (yield 1)), "Totals, ", "complete returned <generator", "Write give("),
    (Returns(), "Returns, ", "work returned [3], which would be lost. Write out += results"),
    (NotAwaited(), "write `await` before the call"),
    # Durations; times of a TIMESTAMP column are whole numbers, to which no timedelta can be added.
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
    *(
        (ps.pipe(DAYS, windows), "seconds=43200", "dates with a timedelta of whole days")
        for windows in [
            *(ps.tumbling(3 * HALF), ps.sliding(4 * HALF, HALF)),
            *(ps.sliding(3 * HALF, 2 * HALF), ps.sessions(3 * HALF)),
        ]
    ),
    *((ps.pipe(DAYS, ps.delay(halves * HALF)), "delay", "only whole days to the date") for halves in (1, 3)),
    (ps.pipe(ps.values([1], time=lambda _: date.max), ps.delay(2 * HALF)), "there is no time ", "later than ", "9999"),
    *((ps.pipe(DAYS, module), "Pass a timedelta: timedelta(days=1)") for module in (ps.delay(1), ps.tumbling(1))),
    *(
        (
            ps.pipe(ps.values([1], time=lambda _, last=last: last), windows(size)),
            "the result would be ",
            why,
            "Leave out",
        )
        for windows in (ps.tumbling, ps.sessions)
        for last, size, why in [(date.max, 2 * HALF, "outside the range of"), (1e30, 7, "infinite, or rounded")]
    ),
    (ps.pipe(ps.once(1), ps.tumbling(timedelta(minutes=5))), "Values without an assigned time are at 0"),
    (ps.pipe(ps.values([np.float32(3)], time=abs), ps.tumbling(5)), "Put map_time(lambda time: time.item()) upstream"),
    # What a user's function does with a value, or does not return.
    (ps.pipe(ps.values([(1, 2)]), ps.map(lambda one, other: one)), "lambda parts: f(*parts)"),
    (ps.map_async(ps.asyncio_call(str), 2), "'3'. Use map"),
    (ps.pipe(ps.values("ab"), SUMS), "concat_values(str)"),
    (ps.pipe(ps.values([timedelta(1)]), SUMS), "agg.sum(start=timedelta())"),
    (ps.pipe(ps.values([("tea", 3)]), SUMS), "agg.sum(lambda sale: sale.price)"),
    (ps.pipe(ps.values([1, None]), SUMS), "is not None"),
    (
        ps.pipe(ps.values([1, 2]), ps.reduce_by_time(ps.Fold(list, lambda found, value: found.append(value)))),
        "found is None: the step of a fold must return the new state",
    ),
    (ps.unfold(0, lambda state: state + 1), "unfold returned 1. It must return a pair (value, next_state)"),
    (ps.unfold(0, lambda state: (0, 1, 2)), "unfold returned (0, 1, 2). It must return a pair"),
    (ps.unfold(0, lambda state: half(state + 1)), "returned a coroutine, which is not awaited"),
    (ps.map(lambda n: n.date), "datetime.fromtimestamp(row.at / 1_000_000, UTC)"),
    (ps.map(lambda n: n.price), "'price'\nraised in map"),
    (ps.values(["9:00", "10:00"], time=str), "letter by letter"),
    (ps.values(["a", "b"], time=frozenset), "Neither time is before the other", "merge these (R12)"),
    (script(*(ps.Batch(frozenset(name), [name]) for name in "ab")), "merge these; your own module can take ctx.hold("),
    (ps.merge(ps.values([1], time=int), ps.values("a", time=str)), "times of one type, with time=, stamp"),
    (ps.pipe(ps.values(RECORDS), ps.map(lambda record: record.price)), "write value['price']"),
    (ps.pipe(ps.values([{}, {"a": 1}]), ps.sort_by_time()), "no common order: give a key"),
    (ps.pipe(ps.values(RECORDS), ps.map(lambda record: record["prise"])), "did you mean the key 'price'?"),
    (ps.timed(lambda value: value), "timed calls the function with other", "write lambda time, value: ..."),
]
"""Streams, or transformers of a 3 at the time 3, and words of the exception or its notes."""


@pytest.mark.parametrize("row", MISTAKES, ids=lambda row: row[-1])
def test_mistakes_in_a_run_say_what_to_write(row):
    """In the exception, or in its notes if Python's own message names things that the user has never seen."""
    stream, *words = row
    with pytest.raises(
        (TypeError, ValueError, LookupError, AttributeError, RuntimeError, ps.PullstreamError, TimelyError)
    ) as caught:
        ps.run(ps.pipe(stream if isinstance(stream, ps.Source) else ps.pipe(THREE, stream), ps.drain()))
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert [word for word in words if word not in text] == []


# ---- mistakes that break no rule, and are logged


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


@ps.transformer
class PollsOn(ps.authoring.PolledKernel):
    left = 3000

    def poll(self, limit):
        self.left -= 1
        batch = self.upstream.poll(limit)
        return batch if isinstance(batch, ps.Batch) or self.left < 0 else ps.authoring.NOT_YET


@ps.transformer
class AsksOn(ps.authoring.Kernel):
    def __init__(self, asked, cancelling):
        self.asked, self.cancelling = asked, cancelling

    async def produce(self, limit):
        while len(self.asked) < 200_000:
            self.asked.append(limit)
            self.cancelling.cancel()
            with suppress(OSError):
                await self.upstream.ask(limit)
        return ps.DONE


@pytest.mark.parametrize("source", [ps.values([1, 2]), ps.fail(OSError())])
async def test_a_loop_that_does_not_end_with_its_stream_can_be_cancelled(source):
    asked = []
    with trio.CancelScope() as scope:
        await ps.arun(ps.pipe(source, AsksOn(asked, scope), ps.drain()))
    assert len(asked) < 200_000


def fails(n):
    raise OSError(n)


WINDOWS = [ps.tumbling(60), ps.sliding(60, 30), ps.sessions(60)]


async def blocks(n):
    trio.lowlevel.current_clock().jump(0.15)
    return n


@pytest.fixture
def virtual(monkeypatch):
    """Have `map_async` measure its calls by trio's clock, which is virtual in `run`."""
    monkeypatch.setattr("pullstream.modules.values.map_async.clocks", SimpleNamespace(perf_counter=trio.current_time))


@pytest.mark.usefixtures("virtual")
@pytest.mark.parametrize(
    ("rest", "module", "words"),
    [
        ((waits_for_what_it_never_requested(), ps.drain()), "waits_for_what_it_never_requested", "ctx.notify_at(time)"),
        ((forgets_with(),), "forgets_with", "`with ctx.hold(time):`"),
        ((reads_no_events(), ps.drain()), "reads_no_events", "ctx.events(upstream)"),
        ((retries(), ps.drain()), "retries", "has asked values 1000 times after the end"),
        ((PollsOn(), ps.drain()), "PollsOn", "has asked values 1000 times after the end"),
        ((ps.map_async(blocks, 4), ps.drain()), "map_async", "map_thread"),
        ((ps.map(fails), swallows(), ps.drain()), "swallows", "its upstream had failed with OSError(0)"),
        ((ps.map(fails), ps.catch(), ps.drain()), "catch", "had failed with OSError(0)"),
        ((ps.map(fails, on_error="skip"), ps.drain()), "map -> on_error", "all 8 values, because its function raised"),
        ((ps.flat_map(fails, on_error="skip"), ps.drain()), "flat_map", "all 8 values, because its function raised"),
        ((ps.stamp(abs), ps.windowed(2), ps.drain()), "windowed", "map_time(lambda _: 0)"),
        *(((window, ps.drain()), window.modules[0].name, "stamp(...)") for window in WINDOWS),
        ((ps.loop(ps.map(lambda n: ps.Again(n + 1) if n < 99 else n)), ps.drain()), "loop ingress", "round 20 times"),
    ],
)
def test_mistakes_that_break_no_rule_are_logged_once(rest, module, words, caplog, monkeypatch):
    monkeypatch.setattr("pullstream.modules.nested.loop.MANY", 20)
    run(ps.pipe(ps.values(range(8)), *rest), check=False)
    (message,) = caplog.messages
    assert message.startswith(f"{module}, composed at")
    assert words in message
    assert ("the last exception was OSError(7)" in message) == ("raised" in words)


def test_values_both_skipped_and_passed_on_are_not_logged(caplog):
    @ps.transformer
    async def miscounts(upstream, ctx):
        async for batch in ctx.batches(upstream):
            ctx.skipped(len(batch.values))
            yield batch

    assert ps.run(ps.pipe(ps.values([1, 2]), miscounts(), ps.collect())) == [1, 2]
    assert not caplog.messages


@ps.source
async def interval(ctx):
    """Yield one value and end, although the name is that of an endless source."""
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
    ("parts", "words"), [(parts, "never") for parts in ENDLESS] + [(parts, "^$") for parts in ENDING], ids=str
)
def test_waiting_for_the_end_of_an_endless_source_is_reported(parts, words):
    """If the composition shows that no result can come; streams that may end are not mentioned."""
    assert re.search(words, never_gives(ps.pipe(*parts)))


def test_every_transformer_says_when_it_emits():
    """Except those that may end the stream, or that depend on modules in their arguments; no new one is forgotten."""
    subjects = [subject for subject in TRANSFORMERS if not (subject.around or subject.resource)]
    modules = [module for subject in subjects for module in subject.make().modules]
    unknown = {module.name for module in modules if Emits.of(module) is Emits.UNKNOWN}
    ends = {"take", "take_times", "timeout", "catch", "abortable"}
    assert unknown == ends | {"pausable", "loop", "worker_pool"}


def test_an_endless_run_is_logged_when_it_begins(caplog):
    async def aside(running):
        await running.finish()

    ps.run(ps.pipe(ps.integers(), ps.collect()), beside=aside)
    assert not caplog.messages
    with pytest.raises(OSError):
        ps.run(ps.pipe(ps.integers(), ps.map(fails), ps.collect()))
    (message,) = caplog.messages
    assert "integers() never ends" in message


NEVER_LEFT = ps.map_async(never, 3)


@pytest.mark.parametrize(
    "module",
    [
        NEVER_LEFT,
        ps.worker_pool(*[NEVER_LEFT] * 3),
        ps.pipe(ps.map(lambda _: ps.interval(1)), ps.flatten(concurrency=3)),
        ps.group_by(lambda n: n, lambda _: NEVER_LEFT),
    ],
    ids=["map_async", "worker_pool", "flatten", "group_by"],
)
async def test_a_failure_held_back_for_long_is_logged(module, caplog, autojump_clock):
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


@pytest.mark.usefixtures("virtual")
def test_correct_use_is_not_logged(caplog):
    """Events without a request if batches are answered, or if none came, and calls that wait in trio."""
    assert ps.run(ps.pipe(ps.values([1, 2]), answers(lambda batch: batch), ps.collect())) == [1, 2]
    assert ps.run(ps.pipe(ps.values([]), waits_for_what_it_never_requested(), ps.collect())) == []
    run(ps.pipe(ps.values([0.2] * 4), ps.map_async(trio.sleep, 2), ps.drain()))
    ps.run(ps.pipe(ps.values([1, 1, 1, 2], time=abs), ps.windowed(2, 3), ps.drain()))
    ps.run(ps.pipe(ps.values([1]), ps.windowed(2), ps.drain()))
    for values, window in product([[0, 0, 1], [5], [0]], WINDOWS):
        ps.run(ps.pipe(ps.values(values, time=abs), window, ps.drain()))
    assert not caplog.messages
