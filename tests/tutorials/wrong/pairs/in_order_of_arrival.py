# wrong: order
"""It pairs values in order of arrival, whatever their inputs."""

import trio

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        arrived = []

        async def ask(lane):
            arrived.append(await lane.ask(1))

        async with trio.open_nursery() as nursery:
            for lane in self.inputs:
                nursery.start_soon(ask, lane)
                await trio.sleep(0)
                await trio.sleep(0)
                await trio.sleep(0)
        if ps.DONE in arrived:
            return ps.DONE
        return ps.Batch(max(batch.time for batch in arrived), [tuple(batch.values[0] for batch in arrived)])
