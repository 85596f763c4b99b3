# wrong: R10
"""It starts a task that still runs after the end."""

import trio

import pullstream as ps


@ps.source
class rows(ps.authoring.Kernel):
    def __init__(self, table):
        self.table = table

    async def acquire(self):
        self.table.__enter__()
        trio.lowlevel.spawn_system_task(self.beat)

    async def beat(self):
        while True:
            await trio.sleep(0.3)

    async def produce(self, limit):
        values = self.table.read(limit)
        return ps.Batch(0, values) if values else ps.DONE

    async def release(self):
        self.table.__exit__(None, None, None)
