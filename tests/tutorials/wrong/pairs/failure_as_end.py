# wrong: R6
"""It treats the failure of an input as its end."""

import trio

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        answers = [ps.DONE, ps.DONE]

        async def ask(number):
            try:
                answers[number] = await self.inputs[number].ask(1)
            except Exception:
                pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, 0)
            nursery.start_soon(ask, 1)
        left, right = answers
        if ps.DONE in (left, right):
            return ps.DONE
        return ps.Batch(max(left.time, right.time), [(left.values[0], right.values[0])])
