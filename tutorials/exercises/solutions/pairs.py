"""6.1 Pairs of two sources: each answer goes into the place of its input, in any order of arrival."""

import trio

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    """A source of the first values of both, the second values of both, and so on."""

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
