"""The judge of `one_ahead`: checks two predictions, and that the module is exactly one value ahead."""

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules, on_virtual_clock
from tutorials.judging.steps import first_difference

HINTS = {
    "": (
        "Read chapter 2.",
        "Which module of the toolkit asks ahead of its consumer?",
        "`ps.prefetch(n)` keeps up to n values; or write a task that asks, and sends the values through a channel.",
    ),
    "prediction": (
        "Read chapter 2; and sections 1.1 and 1.2.",
        "Nothing is read before it is asked for. How many values does the sink ask for?",
        "At limit 1, reads and gets alternate. At limit 2, two are read before both are got; the last one is alone.",
    ),
    "demand": (
        "Read chapter 2.",
        "Was more read than one value ahead, or nothing? What asks while the consumer works, and for how much?",
        "Ask for one value, and for the next when it is taken: `ps.prefetch(1)`, or a task and a channel of size 0.",
    ),
}

WHY = {
    "AT_LIMIT_1": "The sink asks for one value, and asks again when it has handled the answer",
    "AT_LIMIT_2": "The sink asks for up to two values, and the source reads them before it answers",
}


def judge(answer, seeds):
    """Judge an answer."""
    for name, limit in (("AT_LIMIT_1", 1), ("AT_LIMIT_2", 2)):
        printed = run_at(limit)
        said = answer[name]
        if said != printed:
            raise Wrong("prediction", f"{name}: you say\n  {said}\n{differs(said, printed)}. {WHY[name]}")
    one_ahead = answer["one_ahead"]
    gives_the_same(lambda: ps.pipe(ps.values(range(9)), one_ahead()), lambda: ps.values(range(9)), limits=(1, 2, 1000))
    is_ahead(one_ahead(), 1)
    keeps_the_rules(Subject("one_ahead", one_ahead, grows=True), answer.site("one_ahead"), seeds)


def differs(said, printed):
    """Say where a prediction goes wrong, and not what is right."""
    if not isinstance(said, list):
        return "which is not a list of lines"
    number = first_difference(said, printed)
    if number == len(printed):
        return f"but it prints only {number} lines"
    return f"but line {number + 1} is different" if number < len(said) else f"but it prints more than {number} lines"


def run_at(limit):
    """Return the lines that the program of the task prints."""
    printed = []

    def read(n):
        printed.append(f"reads {n}")
        return n

    @ps.sink
    async def gets(upstream, ctx):
        async for batch in ctx.batches(upstream):
            printed.append(f"gets {list(batch.values)}")  # noqa: PERF401 - while it runs

    ps.run(ps.pipe(ps.unfold(1, lambda n: (read(n), n + 1) if n < 4 else None), gets()), limit=limit)
    return printed


def is_ahead(module, n):
    """Check that a module reads exactly n values ahead, and loses none while its consumer is slow."""
    on_virtual_clock(_is_ahead, module, n)


async def _is_ahead(module, n):
    reads = []
    ahead = []

    @ps.source
    class numbers(ps.authoring.Kernel):
        async def produce(self, limit):
            values = list(range(len(reads), min(8, len(reads) + limit)))
            reads.extend(values)
            return ps.Batch(0, values) if values else ps.DONE

    @ps.sink
    async def works(upstream, ctx):
        got = []
        while (batch := await upstream.ask(1)) is not ps.DONE:
            got += batch.values
            await trio.sleep(1)
            ahead.append(len(reads) - len(got))
        return got

    async with ps.pipe(numbers(), module, works()).open(limit=1) as running:
        got = await running.result()
    if got != list(range(8)):
        raise Wrong("values", f"with a slow sink, for 0 to 7 it gave {got}")
    if max(ahead) > n:
        raise Wrong("demand", f"while the sink worked on a value, {max(ahead)} more had been read; the limit is {n}")
    if ahead[0] < n:
        raise Wrong("demand", f"while the sink worked on the first value, {ahead[0]} more had been read, and not {n}")
