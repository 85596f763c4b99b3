# wrong: R10
"""It opens the table when it is made."""

import pullstream as ps


@ps.source
class rows(ps.authoring.Kernel):
    def __init__(self, table):
        self.table = table
        table.__enter__()

    async def produce(self, limit):
        values = self.table.read(limit)
        return ps.Batch(0, values) if values else ps.DONE

    async def release(self):
        self.table.__exit__(None, None, None)
