"""The judge of `requester`: compares the drawing, and checks R9."""

import trio

import pullstream as ps
from pullstream.checker import watch
from tutorials.exercises.solutions import requester as solution
from tutorials.judging import Wrong
from tutorials.judging.module import on_virtual_clock

HINTS = {
    "": (
        "Read sections 1.2, 1.6 and 1.7.",
        "While one ask waits, another task must send the next request. Which lane does each use?",
        "In a nursery: `nursery.start_soon(reader.lane().ask)`, sleep half a second, and `await reader.abort()`.",
    ),
    "R4": (
        "Read section 1.6.",
        "Two asks were outstanding on one lane.",
        "The second ask is on `reader.lane()`.",
    ),
    "R6": (
        "Read section 1.3.",
        "You return while the table is still open. What closes it?",
        "Call `await reader.abort()` before you return.",
    ),
    "R9": (
        "Read section 1.9.",
        "After an ending, from either side, send nothing more.",
        "One abort, and nothing after it.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    wanted, _ = drawn(solution.requester)
    got, over = drawn(answer["requester"])
    if not over:
        raise Wrong("R6", "it returned without an abort, and the table is still open", got)
    if got != wanted:
        raise Wrong("drawing", "your drawing is the first, and it should be the second", f"{got}\n\n{wanted}")


def drawn(requester):
    """Return the drawing of a requester and the table, and whether the stream was ended."""
    said = []

    async def table():
        for row in ("tea", "rice", "salt", "oil"):
            await trio.sleep(1)
            yield row

    @ps.sink
    async def below(upstream, _):
        reader = watch(upstream, "the table", strict=True)
        with trio.move_on_after(1000) as late:
            await requester(reader)
        drawing = reader.diagram()
        if late.cancelled_caught:
            raise Wrong("endless", "after 1000 virtual seconds it had not returned", drawing)
        said.append((drawing, "abort" in drawing or "=done" in drawing or "D: done" in drawing))

    async def main():
        async with ps.pipe(ps.from_async_iterable(table()), below()).open(limit=1) as running:
            await running.result()

    on_virtual_clock(main)
    return said[0]
