# wrong: R6
"""It passes an ending on to its left input only."""

import trio

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        answers = [None, None]

        async def ask(number):
            answers[number] = await self.inputs[number].ask(1)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0)
            nursery.start_soon(ask, 1)
        left, right = answers
        if ps.DONE in (left, right):
            return ps.DONE
        return ps.Batch(max(left.time, right.time), [(left.values[0], right.values[0])])

    async def dismiss(self, reason):
        await (self.inputs[0].abort() if reason is None else self.inputs[0].error(reason))
