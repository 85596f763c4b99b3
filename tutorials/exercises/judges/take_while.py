"""The judge of `take_while`: the values, then all rules, with a test that raises as well."""

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import take_while as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Read section 4.8; and `help(ps.take)`.",
        "You receive batches, but the test applies to values. Test them one by one.",
        "End the generator by `return`. Yield a value that passed at once, as a batch of one at `batch.time`.",
    ),
    "batching": (
        "Read section 4.5, and chapter 2.",
        "In a batch of several values, is each tested? Are the values before the first that fails emitted?",
        "`for value in batch.values:`, and in it the test, and in it the end.",
    ),
    "R8": (
        "Read section 4.9: values before a failure are delivered first.",
        "The test raised at the third value of a batch. Where are the first two?",
        "Yield each value as soon as it has passed, `yield ps.Batch(batch.time, [value])`; then a raise loses nothing.",
    ),
    "R7": (
        "Read sections 4.7 and 4.8.",
        "You ended without notifying upstream. What does a kernel's `dismiss` do by default?",
        "Return from the generator, or answer DONE from `produce`; do not override `dismiss`, which does the rest.",
    ),
    "R9": (
        "Read section 4.6.",
        "You asked upstream after it had ended.",
        "`async for batch in ctx.batches(upstream)` ends at DONE; after `upstream.ask`, check for DONE.",
    ),
    "demand": (
        "Read chapter 2, and section 4.8.",
        "The first value that does not pass has come. Why does anything still ask for more?",
        "`return` where the test fails: the stream ends there, upstream as well.",
    ),
    "R2": (
        "Read chapter 2, and section 4.5.",
        "How many values may an answer have, at least and at most? How many do you ask for upstream?",
        "Never answer an empty batch, nor ask for more than you were asked for: `ctx.limit`, or `ctx.batches`.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    numbers = [4, 1, 7, 3, 9, 2, 5]

    def given(make):
        return lambda: ps.pipe(ps.values(numbers), make(lambda n: n < 9))

    gives_the_same(given(answer["take_while"]), given(solution.take_while), limits=(1,))
    gives_the_same(given(answer["take_while"]), given(solution.take_while), limits=(1, 2, 1000))
    keeps_the_rules(
        Subject("take_while", lambda f: answer["take_while"](lambda n: f(n) < 30), around=True),
        answer.site("take_while"),
        seeds,
    )
    asks_for_no_more(answer["take_while"])


def asks_for_no_more(take_while):
    """Check that it ends upstream as well at the first value that does not pass, in an endless stream."""
    asked = []

    def counted():
        for n in range(200):
            asked.append(n)
            yield n

    ps.run(ps.pipe(ps.values(counted()), take_while(lambda n: n < 3), ps.drain()), limit=1)
    if len(asked) > 5:
        raise Wrong(
            "demand",
            f"for 0, 1, 2, ... with the test n < 3 it went on asking after 3 had not passed, and received "
            f"{len(asked)} values: the stream must end there, upstream as well",
        )
