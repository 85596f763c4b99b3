"""With a variable for each."""

import trio

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def ask_right(self):
        self.right = await self.inputs[1].ask(1)

    async def produce(self, limit):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.ask_right)
            left = await self.inputs[0].ask(1)
        right = self.right
        if left is ps.DONE or right is ps.DONE:
            return ps.DONE
        return ps.Batch(left.time if left.time > right.time else right.time, [(left.values[0], right.values[0])])
