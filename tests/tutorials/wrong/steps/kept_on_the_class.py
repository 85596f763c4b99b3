# wrong: state
"""It keeps its state on the class, so the next run begins with it."""

import pullstream as ps


@ps.transformer
class steps(ps.authoring.Kernel):
    last = [0]

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        found = []
        for value in batch.values:
            found.append(value - self.last[0])
            self.last[0] = value
        return ps.Batch(batch.time, found)
