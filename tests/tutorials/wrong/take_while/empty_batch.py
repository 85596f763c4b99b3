# wrong: R2
"""It answers with an empty batch when no value of a batch has passed."""

import pullstream as ps


@ps.transformer
class take_while(ps.authoring.Kernel):
    over = False

    def __init__(self, test):
        self.test = test

    async def produce(self, limit):
        if self.over:
            return ps.DONE
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        passed = []
        for value in batch.values:
            if not self.test(value):
                self.over = True
                break
            passed.append(value)
        return ps.Batch(batch.time, passed)
