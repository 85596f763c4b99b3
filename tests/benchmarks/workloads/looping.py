"""A loop of many rounds: W8."""

from tests.benchmarks.peers import in_trio, pathway_rows, pathway_table
from tests.benchmarks.workload import BY_HAND, HERE, Workload

VALUES = 100
LOOP = Workload(
    "W8",
    "a loop",
    f"Each round adds one to {VALUES} values. A value leaves the loop when it equals the number of rounds.",
    full=1_000,
    quick=200,
    smoke=5,
    unit="round",
)


@LOOP.limit
def plain(size):
    def run():
        values, out = [0] * VALUES, []
        while values:
            values = [n + 1 for n in values]
            out += [n for n in values if n == size]
            values = [n for n in values if n < size]
        return out

    return run


@LOOP.way(HERE)
def here(size):
    import pullstream as ps

    def step(n):
        return ps.Again(n + 1) if n + 1 < size else n + 1

    program = ps.pipe(ps.values([0] * VALUES), ps.loop(ps.map(step)), ps.collect())
    return lambda: ps.run(program)


@LOOP.way(BY_HAND, note="a channel that a task reads and writes")
def by_hand(size):
    import trio

    async def main():
        sending, receiving = trio.open_memory_channel[int](VALUES)
        out = []
        for _ in range(VALUES):
            await sending.send(0)
        while len(out) < VALUES:
            n = await receiving.receive() + 1
            if n < size:
                await sending.send(n)
            else:
                out.append(n)
        return out

    return in_trio(main)


@LOOP.way("reactivex", share=0.1, note="`expand`")
def reactivex(size):
    import reactivex as rx
    from reactivex import operators as ops

    def step(n):
        return rx.just(n + 1) if n < size else rx.empty()

    stages = (ops.expand(step), ops.filter(lambda n: n == size), ops.to_list())
    return lambda: rx.from_iterable([0] * VALUES).pipe(*stages).run()


@LOOP.way("pathway", share=0.1, note="`iterate`, to a fixpoint")
def pathway(size):
    def build(pw):
        def step(table):
            return {"table": table.select(n=pw.if_else(table.n < size, table.n + 1, table.n))}

        return pw.iterate(step, table=pathway_table(pw, [(0,)] * VALUES, n=int)).table

    run = pathway_rows(build)
    return lambda: [n for (n,) in run()]
