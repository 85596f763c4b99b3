"""The judge of `steps`: the differences, at any limit and in every run, and all rules."""

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import steps as solution
from tutorials.judging.module import gives_the_same, keeps_the_rules

NUMBERS = [5, 7, 4, 4, 9, 1, 3, 3]

HINTS = {
    "": (
        "Read sections 4.4 and 4.5; and `help(ps.transformer)`.",
        "What must be stored from one value to the next, and where?",
        "`last = 0` before the loop over batches; in a loop over `batch.values`, the difference, then `last = value`.",
    ),
    "batching": (
        "Read chapter 2.",
        "What is stored when a batch ends? The next value's neighbour is in the batch before.",
        "Put `last = 0` before `async for`, not inside it.",
    ),
    "state": (
        "Read section 3.3.",
        "The second run gave another result. State in a class or a default argument survives into the next run.",
        "A local variable of the generator, or an attribute set in `__init__` of the kernel, is new in each run.",
    ),
    "R2": (
        "Read section 4.5.",
        "An answer has at least one value, and at most as many as were asked for.",
        "Emit one difference for each value, leave none out, and never answer an empty batch.",
    ),
    "R6": (
        "Read section 4.9.",
        "Upstream has failed. Where does the failure go?",
        "Do not catch failures from upstream: they go on downstream by themselves.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    again = ps.pipe(ps.values(NUMBERS), answer["steps"]())

    def wanted():
        return ps.pipe(ps.values(NUMBERS), solution.steps())

    gives_the_same(lambda: again, wanted, limits=(1000,))
    gives_the_same(lambda: again, wanted, limits=(1000,), what="in the second run, ", kind="state")
    gives_the_same(lambda: again, wanted, limits=(1, 2, 1000))
    days = ps.pipe(ps.values(NUMBERS), ps.stamp_epochs(5))
    gives_the_same(lambda: ps.pipe(days, answer["steps"]()), lambda: ps.pipe(days, solution.steps()), limits=(1000,))
    keeps_the_rules(Subject("steps", answer["steps"]), answer.site("steps"), seeds)
