"""What is asked of `requester`: the drawing, said politely."""

import trio
import trio.testing

import pullstream as ps
from pullstream.checker import watch
from tutorials.exercises.solutions import requester as solution
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Chapter 1, pieces 2, 6 and 7.",
        "What is sent while another ask waits is sent by another task. Which lane does each use?",
        "A nursery; in it `nursery.start_soon(reader.lane().ask)`, half a second of sleep, and `await reader.abort()`.",
    ),
    "R4": (
        "Chapter 1, piece 6.",
        "Two asks were outstanding on one lane.",
        "The second ask is on `reader.lane()`.",
    ),
    "R6": (
        "Chapter 1, piece 3.",
        "You leave, and the table is still open. Who is to close it?",
        "Say `await reader.abort()` before you leave.",
    ),
    "R9": (
        "Chapter 1, piece 9.",
        "After an ending, whoever's it was, nothing more is to be said.",
        "One abort, and nothing after it.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    wanted, _ = drawn(solution.requester)
    got, over = drawn(answer["requester"])
    if not over:
        raise Wrong("R6", "it left without a word, and the table is open", got)
    if got != wanted:
        raise Wrong("drawing", "drawn was the first, and should have been the second", f"{got}\n\n{wanted}")


def drawn(requester):
    """What a requester and the table say, and whether it has been ended."""
    said = []

    async def table():
        for row in ("tea", "rice", "salt", "oil"):
            await trio.sleep(1)
            yield row

    @ps.sink
    async def below(upstream, _):
        reader = watch(upstream, "the table", strict=True)
        with trio.fail_after(1000):
            await requester(reader)
        drawing = reader.diagram()
        said.append((drawing, "abort" in drawing or "=done" in drawing or "D: done" in drawing))

    async def main():
        async with ps.pipe(ps.from_async_iterable(table()), below()).open(limit=1) as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return said[0]
