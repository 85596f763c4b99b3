# wrong: R2
"""It answers with an empty batch before the differences of a batch."""

import pullstream as ps


@ps.transformer
class steps(ps.authoring.Kernel):
    def __init__(self):
        self.last, self.turn = 0, 0

    async def produce(self, limit):
        self.turn += 1
        if self.turn == 4:
            return ps.Batch(0, [])
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        found = []
        for value in batch.values:
            found.append(value - self.last)
            self.last = value
        return ps.Batch(batch.time, found)
