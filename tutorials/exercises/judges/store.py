"""What is asked of `store`: every value, and no time complete before it is stored, with saves that fail as well."""

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.judging import Wrong
from tutorials.judging.module import keeps_the_rules

HINTS = {
    "": (
        "Chapter 5, piece 1.",
        "What has been done with a batch by the time that you ask for the next?",
        "`await save(value)` for each value of the batch, in the loop.",
    ),
    "early": (
        "Chapter 5, pieces 2 and 3.",
        "You have asked again, which says that what came before is dealt with, and a save was still under way.",
        "Await the save in the loop; or hold its time, `with ctx.hold(batch.time):`, in the task that saves.",
    ),
    "holding": (
        "Chapter 5, piece 3.",
        "All is stored, and a time is still held. When is the hold left?",
        "`with ctx.hold(time):` around the save, and around nothing else.",
    ),
    "R6": (
        "Chapter 5, piece 4.",
        "The stream has failed, and you took that for its end.",
        "Do not catch what comes from above.",
    ),
    "R4": (
        "Chapter 6, piece 2.",
        "Two tasks ask the same reader.",
        "Give each task its own, `upstream.lane()`; or let one ask, and others save.",
    ),
    "spin": (
        "Chapter 5, piece 4.",
        "A loop catches everything, its own end too, and goes on.",
        "Let what is raised pass, and above all what is no `Exception`.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    stored = []

    async def save(value):
        stored.append(value)

    numbers = [3, 1, 4, 1, 5, 9, 2, 6]
    for limit in (1, 3, 1000):
        stored.clear()
        ps.run(ps.pipe(ps.values(numbers), answer["store"](save)), limit=limit)
        if sorted(stored) != sorted(numbers):
            kind = "values" if limit == 1 else "batching"
            raise Wrong(kind, f"of {numbers}, asked for {limit} at a time, it has saved {stored}")
    keeps_the_rules(Subject("store", answer["store"], calls=True), answer.site("store"), seeds)
