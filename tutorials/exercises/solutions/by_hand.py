"""4.2 By hand: the words of rows. One attribute says whether and how the stream has ended; check it first."""

import pullstream as ps


class Words(ps.Reader):
    """A reader of the words of rows."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.left = []
        self.time = 0
        self.ending = None

    async def ask(self, limit=1):
        while self.ending is None and not self.left:
            try:
                batch = await self.upstream.ask(1)
            except Exception as failure:
                self.end(failure)
                break
            if batch is ps.DONE:
                self.end(ps.DONE)
            elif self.ending is None:
                self.time, self.left = batch.time, batch.values[0].split()
        if self.ending is ps.DONE:
            return ps.DONE
        if self.ending is not None:
            raise self.ending.with_traceback(self.traceback)
        words, self.left = self.left[:limit], self.left[limit:]
        return ps.Batch(self.time, words)

    def end(self, how):
        """Record the ending, and return whether it is the first; only the first counts."""
        if self.ending is not None:
            return False
        self.ending, self.left = how, []
        self.traceback = getattr(how, "__traceback__", None)
        return True

    async def abort(self):
        return await self.upstream.abort() if self.end(ps.DONE) else ps.DONE

    async def error(self, reason):
        return await self.upstream.error(reason) if self.end(reason) else ps.DONE

    def abort_nowait(self):
        if self.end(ps.DONE):
            self.upstream.abort_nowait()

    def error_nowait(self, reason):
        if self.end(reason):
            self.upstream.error_nowait(reason)

    def ack(self):
        self.upstream.ack()

    def lane(self):
        return self
