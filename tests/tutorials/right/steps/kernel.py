"""As a kernel."""

import pullstream as ps


@ps.transformer
class steps(ps.authoring.Kernel):
    def __init__(self):
        self.last = 0

    async def produce(self, limit):
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        before = [self.last, *batch.values]
        self.last = batch.values[-1]
        return ps.Batch(batch.time, [value - last for last, value in zip(before, batch.values)])
