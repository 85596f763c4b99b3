"""Composing: the table of compositions, what is refused and in which words, blueprints as values."""

import pickle
from functools import partial
from io import StringIO

import pytest

import pullstream as ps

SOURCE, TRANSFORMER, SINK = ps.values([1, 2]), ps.map(str), ps.collect()


async def not_a_generator(ctx):
    return None


async def numbers_in_time():
    yield 1


async def answer_in_time():
    return 1


async def forgotten_source(ctx):
    yield 1


async def forgotten_transformer(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield batch


async def forgotten_sink(upstream, ctx):
    return None


class Forgotten(ps.authoring.Kernel):
    async def produce(self, limit):
        return ps.DONE


@ps.transformer
async def passed_on(upstream, ctx, extra=None):
    async for batch in ctx.batches(upstream):
        yield batch


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((SOURCE,), ps.Source),
        ((SOURCE, TRANSFORMER), ps.Source),
        ((SOURCE, TRANSFORMER, TRANSFORMER), ps.Source),
        ((TRANSFORMER,), ps.Transformer),
        ((TRANSFORMER, TRANSFORMER), ps.Transformer),
        ((TRANSFORMER, SINK), ps.Sink),
        ((SINK,), ps.Sink),
        ((SOURCE, SINK), ps.Pipeline),
        ((SOURCE, TRANSFORMER, SINK), ps.Pipeline),
        ((ps.pipe(SOURCE, TRANSFORMER), ps.pipe(TRANSFORMER, SINK)), ps.Pipeline),
    ],
)
def test_the_table_of_compositions(parts, kind):
    assert type(ps.pipe(*parts)) is kind


@pytest.mark.parametrize(
    ("compose", "words"),
    [
        (ps.pipe, r"has nothing to compose"),
        (lambda: ps.pipe(SINK, TRANSFORMER), r"part 1 .*is a sink, collect\(\): a sink must come last"),
        (lambda: ps.pipe(SOURCE, SINK, SINK), r"part 2 .*is a sink"),
        (lambda: ps.pipe(SOURCE, SOURCE), r"part 2 .*is a source, values\(\[1, 2\]\): a source must come first"),
        (lambda: ps.pipe(ps.pipe(SOURCE, SINK), SINK), r"part 1 .*is a complete pipeline"),
        (lambda: ps.pipe(SOURCE, passed_on, SINK), r"part 2 .*if it returns a module, call it: passed_on\(\)"),
        (
            lambda: ps.pipe(SOURCE, lambda n: n, SINK),
            r"not a module; a plain function goes into map\(<lambda>\), or",
        ),
        (lambda: ps.pipe(SOURCE, str, SINK), r"not a module; a plain function goes into map\(str\), or"),
        (lambda: ps.pipe(SOURCE, str.upper, SINK), r"not a module; a plain function goes into map\(str.upper\), or"),
        (lambda: ps.pipe(SOURCE, not_a_generator), r"function .* goes into map_async\(not_a_generator, concurrency\)$"),
        (lambda: ps.pipe(SOURCE, ps.asyncio_call(not_a_generator)), r"into map_async\(not_a_generator, concurrency\)$"),
        (
            lambda: ps.pipe(forgotten_source),
            r"decorate it with @ps.source and call it to get the module: forgotten_source",
        ),
        (lambda: ps.pipe(numbers_in_time, SINK), r"; from_async_iterable\(numbers_in_time\(\)\) makes a source of it$"),
        (lambda: ps.pipe(answer_in_time, SINK), r"; from_awaitable\(answer_in_time\) makes a source of it$"),
        (lambda: ps.pipe(SOURCE, forgotten_transformer), r"; decorate it with @ps.transformer"),
        (lambda: ps.pipe(SOURCE, forgotten_sink), r"; decorate it with @ps.sink"),
        (lambda: ps.pipe(Forgotten(), SINK), r"; decorate its class with @ps.source, @ps.transformer or @ps.sink$"),
        (
            lambda: ps.loop(lambda n: n),
            r"for its argument 'body', but got .*; a plain function goes into map\(<lambda>\)",
        ),
        (lambda: ps.retry(3), r"needs a source, but got 3\. Use .* To repeat a single call, do it in the function$"),
        (lambda: ps.pipe(SOURCE, ps.collect), r"part 2 .*not a module; call it to get the module: collect\(\)$"),
        (lambda: ps.pipe(SOURCE, map(str, [])), r"this is Python's own map: use ps.map$"),
        (lambda: ps.pipe("a.csv", SINK), r"part 1 .*to read a file, use read_text\(path\), read_csv"),
        (
            lambda: ps.pipe(StringIO("a"), SINK),
            r"part 1 .*values\(...\) makes a source of it, but files.read_text\(path\)",
        ),
        (
            lambda: ps.count_by_key("item"),
            r"got 'item' \(str\): for a column, operator.attrgetter\('item'\); for dicts",
        ),
        (lambda: ps.run(SOURCE), r"got values\(\[1, 2\]\), which has no sink: add one, for example collect\(\)"),
        (
            lambda: ps.run(SOURCE, SINK),
            r"needs one pipeline, but got 2 parts: compose them with pipe\(\.\.\.\), for example run\(pipe\(val",
        ),
        (lambda: ps.run([SOURCE, SINK]), r"needs one pipeline, but got 2 parts"),
        (lambda: ps.arun(SOURCE, TRANSFORMER, SINK), r"arun\(\) .*got 3 parts"),
        (lambda: ps.run([(1, "tea")] * 9), r"got \[\(1, 'tea'\), .*\.\.\.\]: if this is the result of a run, pass the"),
        (lambda: ps.run(None), r"got None: does the function that makes it return it\?$"),
        (lambda: ps.run(SINK), r"which has no source: add one in front$"),
        (lambda: ps.run(ps.collect), r"call it to get the module: collect\(\)$"),
        (lambda: ps.pipe(SOURCE, None), r"part 2 .*is None, which is not a module$"),
        (
            lambda: ps.map(3),
            r"map\(\) .*needs a callable for its argument 'function', but got 3 \(int\): pass the function itself",
        ),
        (
            lambda: ps.flat_map(partial(numbers_in_time)),
            r"the async generator function functools.partial\(.*numbers",
        ),
        (lambda: ps.map_async(len, 0), r"needs a whole number of at least 1 for its argument 'concurrency', but got 0"),
        (ps.tee, r"at least one sink"),
        (lambda: ps.transformer(3), r"@transformer .*decorates an async generator"),
        (lambda: ps.sink(partial(not_a_generator, 3)), r"@sink .* not functools\.partial.*; decorate the function"),
    ],
)
def test_what_can_mean_nothing_is_refused_when_composing(compose, words):
    with pytest.raises(ps.CompositionError, match=words) as caught:
        compose()
    assert isinstance(caught.value, TypeError)
    assert __file__ in str(caught.value)


class Whole:
    """A whole number of another kind, such as NumPy's."""

    def __index__(self):
        return 2


def test_a_whole_number_may_be_of_another_kind():
    batches = ps.pipe(ps.values(range(3)), ps.batch(Whole(), seconds=Whole()), ps.collect())
    windows = ps.stamp(int, lateness=Whole()), ps.tumbling(Whole()), ps.map(lambda window: window.value)
    assert ps.run(batches) == ps.run(ps.pipe(ps.values(range(3)), *windows, ps.collect())) == [[0, 1], [2]]


def test_an_iterator_is_read_by_one_run():
    pipeline = ps.pipe(ps.values(iter([1, 2])), ps.collect())
    assert ps.run(pipeline) == [1, 2]
    with pytest.raises(
        ps.errors.ReuseError, match=r"values\(.*test_pipe.py:\d+, was opened a second time.*compose it again"
    ):
        ps.run(pipeline)


@pytest.mark.parametrize(
    "both",
    [
        lambda source: ps.pipe(ps.zip(source(), source()), ps.collect()),
        lambda source: ps.pipe(ps.join(source(), ps.pipe(source(), ps.map(str)), on=str), ps.collect()),
        lambda source: ps.pipe(ps.concat(*[source()] * 2), ps.collect()),
        lambda source: ps.pipe(ps.merge(source(), source().named("too")), ps.collect()),
    ],
)
def test_an_iterator_is_read_in_one_place(both):
    numbers = iter([1, 2, 3, 4])
    with pytest.raises(
        ps.errors.ReuseError, match=r"values\(.*test_pipe.py:\d+, and values\(.* would read from the same object"
    ):
        ps.run(both(lambda: ps.values(numbers)))
    assert list(numbers) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "pipeline",
    [
        ps.pipe(ps.values([1, 2, 3]), ps.map(str), ps.filter(len), ps.take(2), ps.collect()),
        ps.pipe(ps.values({"a": 1}), ps.flat_map(range), ps.tee(ps.collect(), ps.reduce(max, 0))),
        ps.pipe(ps.integers(), ps.take(3), ps.map_batches(sorted), ps.collect()),
        ps.pipe(ps.once(None), ps.map(repr).named("shown"), ps.collect()),
        ps.pipe(ps.values(range(9), time=int), ps.tumbling(4, ps.agg.count(), key=str), ps.collect()),
        ps.pipe(ps.values(range(9), time=int), ps.sliding(4, 3, ps.agg.top(2), origin=1), ps.collect()),
        ps.pipe(ps.values(range(9), time=int), ps.sessions(3, ps.agg.quantile(0.5)), ps.collect()),
        ps.pipe(
            ps.values(range(3)),
            ps.aggregate(
                key=bool,
                n=ps.agg.count(),
                total=ps.agg.sum(),
                least=ps.agg.min(),
                most=ps.agg.max(),
                mean=ps.agg.mean(),
                keys=ps.agg.count_unique(),
            ),
            ps.collect(),
        ),
        ps.pipe(
            ps.join(ps.values(range(9), time=int), ps.values(range(0, 9, 2), time=int), on=int, how="left", within=1),
            ps.sort_by_time(repr),
            ps.collect(),
        ),
    ],
)
def test_blueprints_of_importable_functions_pickle(pipeline):
    """What comes back is shown the same, composed at the same line, and gives the same result."""
    copy = pickle.loads(pickle.dumps(pipeline))
    assert repr(copy) == repr(pipeline)
    assert [module.site for module in copy.modules] == [module.site for module in pipeline.modules]
    assert ps.run(copy) == ps.run(pipeline)


def test_what_can_be_read_once_refuses_to_be_pickled():
    with pytest.raises(TypeError, match="cannot be pickled: it can be read only once"):
        pickle.dumps(ps.values(iter([1])))
