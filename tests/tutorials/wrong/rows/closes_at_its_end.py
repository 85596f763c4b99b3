# wrong: R10
"""It closes the table only when its rows run out, not after an abort or a failure."""

import pullstream as ps


@ps.source
class rows(ps.authoring.Kernel):
    def __init__(self, table):
        self.table = table

    async def acquire(self):
        self.table.__enter__()

    async def produce(self, limit):
        values = self.table.read(limit)
        if values:
            return ps.Batch(0, values)
        self.table.__exit__(None, None, None)
        return ps.DONE
