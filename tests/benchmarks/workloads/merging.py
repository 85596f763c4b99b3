"""Four sources merged as values arrive: W5."""

from itertools import chain

from tests.benchmarks.peers import bytewax_list, in_asyncio, in_trio, pathway_rows, pathway_table
from tests.benchmarks.workload import BY_HAND, HERE, Target, Workload

MERGE = Workload(
    "W5",
    "merge of four",
    "Four sources of numbers are merged into one stream, which is collected in a list. The limit takes one value from "
    "each source in turn.",
    full=1_000_000,
    quick=200_000,
    smoke=100,
    ordered=False,
    target=Target(1.5),
)


def quarters(size):
    return [list(range(begin, size, 4)) for begin in range(4)]


@MERGE.limit
def plain(size):
    sources = quarters(size)
    return lambda: list(chain.from_iterable(zip(*sources, strict=True)))


@MERGE.way(HERE)
def here(size):
    import pullstream as ps

    program = ps.pipe(ps.merge(*map(ps.values, quarters(size))), ps.collect())
    return lambda: ps.run(program)


@MERGE.way(BY_HAND, share=0.05, note="a task for each source, and one channel")
def by_hand(size):
    import trio

    sources = quarters(size)

    async def send(source, channel):
        async with channel:
            for value in source:
                await channel.send(value)

    async def main():
        sending, receiving = trio.open_memory_channel[int](100)
        async with trio.open_nursery() as nursery, sending:
            for source in sources:
                nursery.start_soon(send, source, sending.clone())
            await sending.aclose()
            return [value async for value in receiving]

    return in_trio(main)


@MERGE.way("streamable", share=0.05)
def streamable(size):
    from streamable import stream

    sources = quarters(size)
    return lambda: list(stream(sources).flatten(concurrency=4))


@MERGE.way("aiostream", share=0.05)
def aiostream(size):
    from aiostream import stream

    sources = quarters(size)

    async def main():
        return await stream.list(stream.merge(*map(stream.iterate, sources)))

    return in_asyncio(main)


@MERGE.way("reactivex", share=0.2)
def reactivex(size):
    import reactivex as rx
    from reactivex import operators as ops

    sources = quarters(size)
    return lambda: rx.merge(*map(rx.from_iterable, sources)).pipe(ops.to_list()).run()


@MERGE.way("streamz", share=0.1, note="values are pushed into the four sources in turn")
def streamz(size):
    from streamz import Stream

    sources = quarters(size)

    def run():
        streams = [Stream() for _ in sources]
        out = streams[0].union(*streams[1:]).sink_to_list()
        for values in zip(*sources, strict=True):
            for stream, value in zip(streams, values, strict=True):
                stream.emit(value)
        return out

    return run


@MERGE.way("bytewax")
def bytewax(size):
    sources = quarters(size)
    return bytewax_list(lambda op, given: op.merge("merge", *map(given, sources)))


@MERGE.way("pathway", share=0.1)
def pathway(size):
    sources = [[(value,) for value in source] for source in quarters(size)]

    def build(pw):
        tables = [pathway_table(pw, rows, n=int) for rows in sources]
        return tables[0].concat_reindex(*tables[1:])

    run = pathway_rows(build)
    return lambda: [n for (n,) in run()]
