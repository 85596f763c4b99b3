"""The judge of `pairs`: the pairs, as soon as both values are there, and all rules, with inputs that end and fail."""

import trio

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import pairs as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules, seen

HINTS = {
    "": (
        "Read sections 6.1 and 6.2.",
        "Use two tasks, each with its own input. Where does each put its answer?",
        "Use a list with two places, a task for each input that fills its place, and a nursery that waits for both.",
    ),
    "order": (
        "Read section 6.2.",
        "The first answer to arrive was taken for the left one.",
        "Put each answer in the place of its input: `answers[number] = await self.inputs[number].ask(1)`.",
    ),
    "R4": (
        "Read section 6.2.",
        "One input was asked twice at once.",
        "`self.inputs[0]` for the left, `self.inputs[1]` for the right.",
    ),
    "R6": (
        "Read section 6.3.",
        "One input failed, or the consumer ended the stream. Which inputs were notified, and how?",
        "Do not override `dismiss`, which notifies both, and do not catch what an input raises.",
    ),
    "R9": (
        "Read section 6.4; and section 1.8.",
        "An ask was given up, and that input asked again. Giving up an ask ends its stream.",
        "Wait for both, as long as it takes.",
    ),
    "concurrent": (
        "Read section 6.2.",
        "While one input is slow, has the other been asked?",
        "Start a task for each input in a nursery; the nursery waits for both.",
    ),
    "batching": (
        "Read section 6.2.",
        "Asked for several values, the two inputs may answer with different numbers of them.",
        "Ask each input for one value: `ask(1)`. `zip` drops the values that have no partner.",
    ),
    "values": (
        "Read section 6.1.",
        "Look at the times as well: a pair belongs to the later of the two.",
        "`ps.Batch(max(left.time, right.time), [(left.values[0], right.values[0])])`.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""

    @ps.source
    async def given(ctx, rows, waits):
        for time, value in rows:
            await trio.sleep(waits)
            yield ps.Batch(time, [value])

    left, right = [(0, "a"), (1, "b"), (2, "c")], [(0, 1), (0, 2), (3, 3), (4, 4)]
    for waits in ((0, 0), (1, 3), (3, 1)):

        def made(pairs, waits=waits):
            return lambda: pairs(given(left, waits[0]), given(right, waits[1]))

        kind = "order" if waits[0] > waits[1] else "values"
        gives_the_same(made(answer["pairs"]), made(solution.pairs), kind=kind)

    def one_in_batches(pairs):
        return lambda: pairs(ps.values(range(3)), given([(0, "a"), (0, "b"), (0, "c")], 1))

    what = "with the left values in one batch, and the right ones in three, "
    gives_the_same(one_in_batches(answer["pairs"]), one_in_batches(solution.pairs), what=what)
    took = seen(answer["pairs"](given(left, 1), given(left, 1))).seconds
    if took >= 2 * len(left):
        happened = f"both inputs answer after 1 second, and {len(left)} pairs took {took:g} seconds"
        raise Wrong("concurrent", f"{happened}: one input is asked after the other")
    keeps_the_rules(Subject("pairs", answer["pairs"], inputs=2), answer.site("pairs"), seeds)
