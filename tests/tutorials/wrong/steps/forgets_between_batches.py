# wrong: batching
"""It starts over with every batch that has several values."""

import pullstream as ps


@ps.transformer
class steps(ps.authoring.Kernel):
    def __init__(self):
        self.last = 0

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        if limit > 1:
            self.last = 0
        found = []
        for value in batch.values:
            found.append(value - self.last)
            self.last = value
        return ps.Batch(batch.time, found)
