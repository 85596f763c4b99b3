"""4.2 By hand: the words of rows.

An edge is used through a `Reader`. Write one by hand: asked for words, it asks `upstream` for rows, one at a time, and
answers with their words, at most as many as it was asked for. It keeps the remaining words for the next ask. A row may
have no words.

Here you must keep the rules yourself. After DONE or an abort, every ask is answered with DONE, even if words remain.
After an error, from below or from upstream, every ask raises that same exception, with the traceback that it had then:
a plain `raise` adds to the traceback. Pass an ending on once, unchanged, and confirm it with DONE when it is confirmed
upstream.
"""

import pullstream as ps


class Words(ps.Reader):
    def __init__(self, upstream):
        self.upstream = upstream

    async def ask(self, limit=1):
        batch = await self.upstream.ask(1)
        if batch is ps.DONE:
            return ps.DONE
        return ps.Batch(batch.time, batch.values[0].split())

    async def abort(self):
        return await self.upstream.abort()

    async def error(self, reason):
        return await self.upstream.error(reason)

    def abort_nowait(self):
        self.upstream.abort_nowait()

    def error_nowait(self, reason):
        self.upstream.error_nowait(reason)

    def ack(self):
        self.upstream.ack()

    def lane(self):
        return self
