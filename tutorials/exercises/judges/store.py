"""The judge of `store`: saves every value, with no time complete before its values are stored; some saves fail."""

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.judging import Wrong
from tutorials.judging.module import keeps_the_rules

HINTS = {
    "": (
        "Read section 5.1.",
        "What has happened to a batch when you ask for the next one?",
        "`await save(value)` for each value of the batch, in the loop.",
    ),
    "early": (
        "Read sections 5.2 and 5.3.",
        "You asked again, which acknowledges the batch before, while a save was still running.",
        "Await the save in the loop; or hold its time, `with ctx.hold(batch.time):`, in the task that saves.",
    ),
    "holding": (
        "Read section 5.3.",
        "All values are stored, and a time is still held. When is the hold left?",
        "`with ctx.hold(time):` around the save, and around nothing else.",
    ),
    "R6": (
        "Read section 5.4.",
        "The stream failed, and you treated that as its end.",
        "Do not catch failures from upstream.",
    ),
    "R4": (
        "Read section 6.2.",
        "Two tasks ask the same reader.",
        "Give each task its own lane, `upstream.lane()`; or let one task ask and the others save.",
    ),
    "spin": (
        "Read section 5.4.",
        "A loop catches everything, even its own cancellation, and goes on.",
        "Let exceptions pass, above all those that are no `Exception`.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    stored = []

    async def save(value):
        stored.append(value)

    numbers = [3, 1, 4, 1, 5, 9, 2, 0]
    for limit in (1, 3, 1000):
        stored.clear()
        ps.run(ps.pipe(ps.values(numbers), answer["store"](save)), limit=limit)
        if sorted(stored) != sorted(numbers):
            kind = "values" if limit == 1 else "batching"
            raise Wrong(kind, f"for {numbers}, with {limit} at a time, it has saved {stored}")
    keeps_the_rules(Subject("store", answer["store"], calls=True), answer.site("store"), seeds)
