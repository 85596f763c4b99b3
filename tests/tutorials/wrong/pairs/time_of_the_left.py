# wrong: values R12
"""A pair is at the time of its left value."""

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        left = await self.inputs[0].ask(1)
        right = await self.inputs[1].ask(1)
        if ps.DONE in (left, right):
            return ps.DONE
        return ps.Batch(left.time, [(left.values[0], right.values[0])])
