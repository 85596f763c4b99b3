"""The judge of `read_ahead`: exactly n values ahead, and no other effect."""

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.judges.one_ahead import is_ahead
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Read section 6.5.",
        "A task asks, and the generator yields. Which batch does each of them have, and which holds its time?",
        "Enter a hold of the batch's time before you send it, and close it after the batch has been yielded.",
    ),
    "R12": (
        "Read section 6.5.",
        "When a batch was yielded, its time was complete: the next ask had acknowledged it.",
        "`hold.enter_context(ctx.hold(batch.time))` in the task, before it asks again; `hold.close()` after the yield.",
    ),
    "demand": (
        "Read section 2.5.",
        "More was read than n ahead, or less: the channel, the task and the generator can each have a value.",
        "Use a channel of size n - 1, and batches of one value: `upstream.ask(1)`.",
    ),
    "R8": (
        "Read section 4.9.",
        "A failure came before the values that were read before it.",
        "Send the failure through the channel as well, behind the values, and raise it when you receive it.",
    ),
    "hang": (
        "Read section 6.5; and section 4.9.",
        "When upstream fails, your task fails and its nursery cancels the loop that yields. Who closes the kept holds?",
        "In the task, `except Exception as failure: await send.send((failure, None))`; raise it where you receive it.",
    ),
    "R10": (
        "Read section 6.5.",
        "A task was still running when the stream had ended.",
        "Start it in a nursery inside the generator: `async with trio.open_nursery()`.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    read_ahead = answer["read_ahead"]
    gives_the_same(
        lambda: ps.pipe(ps.values(range(9)), read_ahead(3)), lambda: ps.values(range(9)), limits=(1, 2, 1000)
    )
    for n in (1, 3):
        is_ahead(read_ahead(n), n)
    keeps_the_rules(Subject("read_ahead", lambda: read_ahead(2), grows=True), answer.site("read_ahead"), seeds)
