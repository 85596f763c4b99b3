"""4.2 By hand: the words of rows, politely.

What stands at an edge is a `Reader`. Write one by hand: asked for words, it asks `upstream` for rows, one at a time,
and answers with their words, at most as many as it was asked for. What is left over waits for the next ask; a row may
have no words.

Nothing keeps the rules for you here. After DONE it is over, whoever asks; after an abort or an error as well, whatever
is left over. An ending is passed on once, as it came, and confirmed with DONE when it is confirmed above. After a
failure from above each ask raises that object again.
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
