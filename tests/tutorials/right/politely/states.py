"""With a state that has a name."""

import pullstream as ps


class Words(ps.Reader):
    def __init__(self, upstream):
        self.upstream, self.words, self.state, self.failure = upstream, [], "open", None

    async def ask(self, limit=1):
        if self.state == "open" and not self.words:
            await self.fill()
        match self.state:
            case "open":
                time, word = self.words.pop(0)
                return ps.Batch(time, [word])
            case "done":
                return ps.DONE
            case _:
                failure, traceback = self.failure
                raise failure.with_traceback(traceback)

    async def fill(self):
        while self.state == "open" and not self.words:
            try:
                batch = await self.upstream.ask()
            except Exception as failure:
                self.close(failure)
            else:
                if batch is ps.DONE:
                    self.close(None)
                elif self.state == "open":
                    self.words = [(batch.time, word) for word in batch.values[0].split()]

    def close(self, reason):
        was, self.words = self.state, []
        if was == "open":
            self.state = "done" if reason is None else "failed"
            self.failure = (reason, getattr(reason, "__traceback__", None))
        return was == "open"

    async def abort(self):
        return await self.upstream.abort() if self.close(None) else ps.DONE

    async def error(self, reason):
        return await self.upstream.error(reason) if self.close(reason) else ps.DONE

    def abort_nowait(self):
        if self.close(None):
            self.upstream.abort_nowait()

    def error_nowait(self, reason):
        if self.close(reason):
            self.upstream.error_nowait(reason)

    def ack(self):
        self.upstream.ack()

    def lane(self):
        return self
