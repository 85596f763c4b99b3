"""Values through synchronous stages, one after another: W1 and W2."""

import operator
from collections.abc import AsyncIterator, Callable, Iterable
from functools import reduce
from typing import Any

from tests.benchmarks.driving import bytewax_list, in_asyncio, in_trio, pathway_rows, pathway_table, piped
from tests.benchmarks.workload import BY_HAND, HERE, Run, Target, Workload

SUM = Workload(
    "W1",
    "map, filter, sum",
    "Each number is doubled, kept if it is divisible by three, and summed: two Python functions per value.",
    full=1_000_000,
    quick=200_000,
    smoke=100,
    target=Target(1.05, first=1.15),
)
TEN = Workload(
    "W2",
    "ten maps",
    "Ten maps in a row, each with a Python function, and a sum.",
    full=500_000,
    quick=100_000,
    smoke=100,
    target=Target(1.05, first=1.15),
)


def double(n: int) -> int:
    return n * 2


def third(n: int) -> bool:
    return n % 3 == 0


def more(n: int) -> int:
    return n + 1


@SUM.limit
def sum_plain(size: int) -> Run:
    data = list(range(size))
    return lambda: sum(filter(third, map(double, data)))


@TEN.limit
def ten_plain(size: int) -> Run:
    data = list(range(size))

    def run() -> int:
        values: Iterable[int] = data
        for _ in range(10):
            values = map(more, values)
        return sum(values)

    return run


def here(data: list[int], *stages: Any) -> Run:
    import pullstream as ps

    program = piped(ps.values(data), *stages, ps.reduce(operator.add, 0))
    return lambda: ps.run(program)


@SUM.way(HERE)
def sum_here(size: int) -> Run:
    import pullstream as ps

    return here(list(range(size)), ps.map(double), ps.filter(third))


@TEN.way(HERE)
def ten_here(size: int) -> Run:
    import pullstream as ps

    return here(list(range(size)), *[ps.map(more)] * 10)


# ---- async generators on trio, as one would write them


async def given(data: Iterable[int]) -> AsyncIterator[int]:
    for value in data:
        yield value


async def mapped(function: Callable[[int], int], values: AsyncIterator[int]) -> AsyncIterator[int]:
    async for value in values:
        yield function(value)


async def kept(test: Callable[[int], bool], values: AsyncIterator[int]) -> AsyncIterator[int]:
    async for value in values:
        if test(value):
            yield value


async def added(values: AsyncIterator[int]) -> int:
    total = 0
    async for value in values:
        total += value
    return total


@SUM.way(BY_HAND, note="async generators")
def sum_by_hand(size: int) -> Run:
    data = list(range(size))
    return in_trio(lambda: added(kept(third, mapped(double, given(data)))))


@TEN.way(BY_HAND, note="async generators")
def ten_by_hand(size: int) -> Run:
    data = list(range(size))

    def program() -> Any:
        values = given(data)
        for _ in range(10):
            values = mapped(more, values)
        return added(values)

    return in_trio(program)


# ---- peers


@SUM.way("streamable")
def sum_streamable(size: int) -> Run:
    from streamable import stream

    data = list(range(size))
    return lambda: sum(stream(data).map(double).filter(third))


@TEN.way("streamable")
def ten_streamable(size: int) -> Run:
    from streamable import stream

    data = list(range(size))
    return lambda: sum(reduce(lambda values, _: values.map(more), range(10), stream(data)))


def aiostream_sum(data: list[int], *stages: Any) -> Run:
    from aiostream import pipe, stream

    async def main() -> int:
        values: Any = stream.iterate(data)
        for stage in stages:
            values |= stage
        return await (values | pipe.reduce(operator.add, initializer=0))

    return in_asyncio(main)


@SUM.way("aiostream", share=0.2)
def sum_aiostream(size: int) -> Run:
    from aiostream import pipe

    return aiostream_sum(list(range(size)), pipe.map(double), pipe.filter(third))


@TEN.way("aiostream", share=0.2)
def ten_aiostream(size: int) -> Run:
    from aiostream import pipe

    return aiostream_sum(list(range(size)), *[pipe.map(more)] * 10)


def reactivex_sum(data: list[int], *stages: Any) -> Run:
    import reactivex as rx
    from reactivex import operators as ops

    return lambda: rx.from_iterable(data).pipe(*stages, ops.reduce(operator.add, 0)).run()


@SUM.way("reactivex", share=0.5)
def sum_reactivex(size: int) -> Run:
    from reactivex import operators as ops

    return reactivex_sum(list(range(size)), ops.map(double), ops.filter(third))


@TEN.way("reactivex", share=0.5)
def ten_reactivex(size: int) -> Run:
    from reactivex import operators as ops

    return reactivex_sum(list(range(size)), *[ops.map(more)] * 10)


def streamz_sum(data: list[int], build: Callable[[Any], Any]) -> Run:
    from streamz import Stream

    def run() -> int:
        totals: list[int] = [0]
        source = Stream()
        build(source).accumulate(operator.add, start=0).sink(lambda total: totals.__setitem__(0, total))
        for value in data:
            source.emit(value)
        return totals[0]

    return run


@SUM.way("streamz", share=0.1)
def sum_streamz(size: int) -> Run:
    return streamz_sum(list(range(size)), lambda source: source.map(double).filter(third))


@TEN.way("streamz", share=0.1)
def ten_streamz(size: int) -> Run:
    return streamz_sum(list(range(size)), lambda source: reduce(lambda values, _: values.map(more), range(10), source))


@SUM.way("bytewax")
def sum_bytewax(size: int) -> Run:
    data = list(range(size))

    def build(op: Any, given: Any) -> Any:
        return op.filter("third", op.map("double", given(data), double), third)

    run = bytewax_list(build)
    return lambda: sum(run())


@TEN.way("bytewax")
def ten_bytewax(size: int) -> Run:
    data = list(range(size))

    def build(op: Any, given: Any) -> Any:
        return reduce(lambda values, number: op.map(f"map{number}", values, more), range(10), given(data))

    run = bytewax_list(build)
    return lambda: sum(run())


@SUM.way("pathway", share=0.1, note="`pw.apply` of the same functions")
def sum_pathway(size: int) -> Run:
    rows = [(n,) for n in range(size)]

    def build(pw: Any) -> Any:
        doubled = pathway_table(pw, rows, n=int).select(n=pw.apply(double, pw.this.n))
        return doubled.filter(pw.apply(third, pw.this.n)).reduce(total=pw.reducers.sum(pw.this.n))

    run = pathway_rows(build)
    return lambda: run()[0][0]


@TEN.way("pathway", share=0.1, note="`pw.apply` of the same functions")
def ten_pathway(size: int) -> Run:
    rows = [(n,) for n in range(size)]

    def build(pw: Any) -> Any:
        table = pathway_table(pw, rows, n=int)
        for _ in range(10):
            table = table.select(n=pw.apply(more, pw.this.n))
        return table.reduce(total=pw.reducers.sum(pw.this.n))

    run = pathway_rows(build)
    return lambda: run()[0][0]
