"""With a flag and a failure of their own."""

import pullstream as ps


class Words(ps.Reader):
    def __init__(self, upstream):
        self.upstream = upstream
        self.words, self.over, self.failure = [], False, None

    async def ask(self, limit=1):
        while not self.words and not self.over:
            try:
                batch = await self.upstream.ask(1)
            except BaseException as failure:
                if not self.over:
                    self.finish(failure)
                raise
            if self.over:
                break
            if batch is ps.DONE:
                self.finish()
            else:
                self.words = [(batch.time, word) for word in batch.values[0].split()]
        if self.failure is not None:
            raise self.failure[0].with_traceback(self.failure[1])
        if self.over:
            return ps.DONE
        taken, self.words = self.words[:limit], self.words[limit:]
        return ps.Batch(taken[0][0], [word for _, word in taken])

    def finish(self, failure=None):
        self.over, self.words = True, []
        if failure is not None:
            self.failure = failure, failure.__traceback__

    async def abort(self):
        if not self.over:
            self.finish()
            await self.upstream.abort()
        return ps.DONE

    async def error(self, reason):
        if not self.over:
            self.finish(reason)
            await self.upstream.error(reason)
        return ps.DONE

    def abort_nowait(self):
        if not self.over:
            self.finish()
            self.upstream.abort_nowait()

    def error_nowait(self, reason):
        if not self.over:
            self.finish(reason)
            self.upstream.error_nowait(reason)

    def ack(self):
        self.upstream.ack()

    def lane(self):
        return self
