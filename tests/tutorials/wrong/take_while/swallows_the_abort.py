# wrong: R7 R6
"""It ends without passing the ending on."""

import pullstream as ps


@ps.transformer
class take_while(ps.authoring.Kernel):
    def __init__(self, test):
        self.test, self.over = test, None

    async def produce(self, limit):
        if self.over is not None:
            return self.end()
        batch = await self.upstream.ask(limit)
        if batch is ps.DONE:
            return ps.DONE
        passed = []
        try:
            for value in batch.values:
                if not self.test(value):
                    self.over = ps.DONE
                    break
                passed.append(value)
        except Exception as failure:
            self.over = failure
        return ps.Batch(batch.time, passed) if passed else self.end()

    def end(self):
        if self.over is not ps.DONE:
            raise self.over
        return ps.DONE

    async def dismiss(self, reason):
        pass
