"""6.1 Pairs of two sources.

`pairs(left, right)` is a source of pairs: the first of the left with the first of the right, then the second ones, and
so on. Ask both concurrently, because both may be slow. A pair is at the later time of its two values. When one source
ends, the pairs end. If one fails, the other must be notified.

A kernel names the sources it depends on in its traits, and finds a lane of each in `self.inputs`.
"""

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.authoring.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        return await self.inputs[0].ask(1)
