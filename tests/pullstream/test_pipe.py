"""Blueprints as values: run again, pickled, and with iterators that they share."""

import pickle

import pytest
import trio

import pullstream as ps


class Whole:
    """A whole number of another type, such as NumPy's."""

    def __index__(self):
        return 2


def test_whole_numbers_may_be_of_any_type():
    batches = ps.pipe(ps.values(range(3)), ps.batch(Whole(), seconds=Whole()), ps.collect())
    windows = ps.stamp(int, lateness=Whole()), ps.tumbling(Whole()), ps.map(lambda window: window.value)
    assert ps.run(batches) == ps.run(ps.pipe(ps.values(range(3)), *windows, ps.collect())) == [[0, 1], [2]]


async def one():
    return 1


async def ones():
    yield 1


READ_ONCE = {
    "values": lambda: ps.values(iter([1])),
    "from_awaitable": lambda: ps.from_awaitable(one()),
    "from_async_iterable": lambda: ps.from_async_iterable(ones()),
    "from_asyncio": lambda: ps.from_asyncio(ones()),
    "from_asyncio, a coroutine": lambda: ps.from_asyncio(one()),
    "to_channel": lambda: ps.pipe(ps.values([1]), ps.to_channel(trio.open_memory_channel(9)[0])),
}


@pytest.mark.parametrize("name", READ_ONCE)
def test_what_can_be_read_once_is_read_by_one_run(name, tmp_path):
    made = READ_ONCE[name]()
    pipeline = made if isinstance(made, ps.Pipeline) else ps.pipe(made, ps.collect())
    with pytest.raises(ps.errors.JournalError, match="is a folder"):  # a run that is refused reads nothing
        ps.run(pipeline, journal=tmp_path)
    assert ps.run(pipeline) == (None if pipeline is made else [1])
    words = rf"{name.partition(',')[0]}\(.*test_pipe.py:\d+, was opened a second time.*compose it again"
    with pytest.raises(ps.errors.ReuseError, match=words):
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
        *(
            ps.pipe(ps.values(range(3)), ps.aggregate(key=bool, self=fold()), ps.collect())
            for fold in (ps.agg.count, ps.agg.sum, ps.agg.min, ps.agg.max, ps.agg.mean, ps.agg.count_unique)
        ),
        ps.pipe(
            ps.join(ps.values(range(9), time=int), ps.values(range(0, 9, 2), time=int), on=int, how="left", within=1),
            ps.sort_by_time(repr),
            ps.collect(),
        ),
    ],
)
def test_blueprints_of_importable_functions_pickle(pipeline):
    copy = pickle.loads(pickle.dumps(pipeline))
    assert repr(copy) == repr(pipeline)
    assert [module.site for module in copy.modules] == [module.site for module in pipeline.modules]
    assert ps.run(copy) == ps.run(pipeline)


def test_single_use_sources_refuse_to_be_pickled():
    with pytest.raises(TypeError, match="cannot be pickled: it can be read only once"):
        pickle.dumps(ps.values(iter([1])))
