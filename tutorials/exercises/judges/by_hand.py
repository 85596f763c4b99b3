"""The judge of `by_hand`: plays scenes at its edge, and checks both of its edges strictly."""

from contextlib import suppress

import trio

import pullstream as ps
from pullstream.checker import watch
from pullstream.errors import one_of
from tutorials.judging import Wrong
from tutorials.judging.module import on_virtual_clock

HINTS = {
    "": (
        "Sections 4.4 to 4.10 show each mistake and its fix.",
        "What must be stored between two requests? The remaining words, and whether and how the stream has ended.",
        "An attribute `ending`, None at first: every method checks it first, and every ending sets it.",
    ),
    "R2": (
        "Read section 4.5.",
        "How many words does a row have? How many were asked for?",
        "Keep the remaining words for the next ask, and while there are none, ask upstream again.",
    ),
    "R3": (
        "Read sections 4.6 and 4.9.",
        "The stream ended, and then went on, or ended again in another way.",
        "Drop the words. Keep a failure and its `__traceback__`, and `raise failure.with_traceback(kept)` each time.",
    ),
    "R5": (
        "Read section 4.10.",
        "A value was answered after an abort: it was in flight, or a remaining word.",
        "After every `await`, check again whether the stream has ended; in `abort`, drop the remaining words.",
    ),
    "R6": (
        "Read section 4.7.",
        "An ending came from below. What did you send upstream, and did you wait for the answer?",
        "`return await self.upstream.abort()`, and the same for `error`, with its reason.",
    ),
    "R9": (
        "Read section 4.6.",
        "You asked or ended a stream that was over.",
        "Record that the stream is over, and answer without asking upstream.",
    ),
    "R8": (
        "Read sections 1.3 and 1.5.",
        "What confirms an ending?",
        "`return ps.DONE`, when upstream has confirmed it.",
    ),
}

ROWS = ("tea and rice", "", "salt")
TOGETHER = ("tea and", "rice", "", "salt")


async def three_asks(reader):
    for limit in (1, 5, 1):
        await reader.ask(limit)


async def past_the_end(reader):
    for _ in range(7):
        await reader.ask()


async def abort_with_words_left(reader):
    await reader.ask()
    await reader.abort()
    await reader.ask()
    await reader.abort()


async def error_with_words_left(reader):
    await reader.ask()
    await reader.error(ValueError("disk full"))
    for _ in range(2):
        with suppress(ValueError):
            await reader.ask()


async def abort_while_it_is_asked(reader):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(0.5)
        await reader.abort()


async def abort_without_waiting(reader):
    await reader.ask()
    reader.abort_nowait()
    await trio.sleep(5)


async def asks_when_it_has_failed(reader):
    for _ in range(8):
        with suppress(OSError):
            await reader.ask()


async def abort_at_first(reader):
    await reader.abort()
    await reader.ask()


TRACED = False
"""A hand-written reader is not a module of a run, so a page of the run would not show it."""

SCENES = (
    three_asks, past_the_end, abort_with_words_left, error_with_words_left, abort_while_it_is_asked,
    abort_without_waiting, asks_when_it_has_failed, abort_at_first,
)  # fmt: skip


def judge(answer, seeds):
    """Judge an answer."""
    words = answer["Words"]
    said = []
    on_virtual_clock(_scene, words, _all(said), 0, ps.values(TOGETHER))
    if said != ["tea", "and", "rice", "salt"]:
        raise Wrong("values", f"for the rows {TOGETHER} it gave\n{said}")
    for scene in SCENES:
        fails = scene is asks_when_it_has_failed
        try:
            on_virtual_clock(_scene, words, scene, fails)
        except BaseExceptionGroup as group:
            raise one_of(group) from None
    for name, arguments, rule in (("ack", (), "R11"), ("abort_nowait", (), "R6"), ("error_nowait", (OSError(),), "R6")):
        above = Noted()
        getattr(words(above), name)(*arguments)
        if above.said != [name]:
            raise Wrong(rule, f"after {name}() from below, upstream received {' and '.join(above.said) or 'nothing'}")


class Noted:
    """An upstream that records the calls that have no answer."""

    def __init__(self):
        self.said = []

    def ack(self):
        self.said.append("ack")

    def abort_nowait(self):
        self.said.append("abort_nowait")

    def error_nowait(self, reason):
        self.said.append("error_nowait")


def _all(said):
    async def scene(reader):
        with trio.fail_after(1000):
            while (batch := await reader.ask()) is not ps.DONE:
                said.extend(batch.values)

    return scene


async def _scene(words, scene, fails, source=None):
    async def rows():
        try:
            for row in ROWS:
                await trio.sleep(1)
                yield row
            if fails:
                raise OSError("disk on fire")
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)

    @ps.sink
    async def below(upstream, _):
        above = watch(upstream, "the source", strict=True)
        reader = watch(words(above), words.__name__, above=above)
        with trio.fail_after(1000):
            await scene(reader)
        reader.settled()

    # With limit 1, the drawing of a scene is simple; the first scene needs larger answers.
    limit = 1 if source is None else 1000
    async with ps.pipe(source or ps.from_async_iterable(rows()), below()).open(limit=limit) as running:
        await running.result()
