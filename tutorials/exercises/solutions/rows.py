"""3.1 Rows of a table: `acquire` opens it, `release` closes it, and the kernel calls both."""

import pullstream as ps


@ps.source
class rows(ps.authoring.Kernel):
    """A source of the rows of a table."""

    def __init__(self, table):
        self.table = table

    async def acquire(self):
        self.table.__enter__()

    async def produce(self, limit):
        values = self.table.read(limit)
        return ps.Batch(0, values) if values else ps.DONE

    async def release(self):
        self.table.__exit__(None, None, None)
