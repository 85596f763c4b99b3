"""6.1 Pairs of two sources.

`pairs(left, right)` is a source of pairs: the first of the left with the first of the right, then the second ones, and
so on. Both are asked side by side, since both may be slow. A pair is at the later time of its two values; when one
source has ended, so have the pairs. If one fails, the other is told.

A kernel that stands on sources names them in its traits, and finds them in `self.inputs`, a lane of each.
"""

import pullstream as ps
from pullstream.authoring import Traits


@ps.source
class pairs(ps.Kernel):
    def __init__(self, left, right):
        self.traits = Traits(sources=(left, right))

    async def produce(self, limit):
        return await self.inputs[0].ask(1)
