# wrong: sharing
"""It fills the same list for every batch."""

import pullstream as ps


@ps.source
class rows(ps.authoring.Kernel):
    def __init__(self, table):
        self.table, self.values = table, []

    async def acquire(self):
        self.table.__enter__()

    async def produce(self, limit):
        self.values[:] = self.table.read(limit)
        return ps.Batch(0, self.values) if self.values else ps.DONE

    async def release(self):
        self.table.__exit__(None, None, None)
