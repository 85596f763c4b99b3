"""3.1 Rows of a table: what is opened in `acquire` is closed in `release`, and the kernel sees to both."""

import pullstream as ps


@ps.source
class rows(ps.Kernel):
    """The rows of a table."""

    def __init__(self, table):
        self.table = table

    async def acquire(self):
        self.table.__enter__()

    async def produce(self, limit):
        values = self.table.read(limit)
        return ps.Batch(0, values) if values else ps.DONE

    async def release(self):
        self.table.__exit__(None, None, None)
