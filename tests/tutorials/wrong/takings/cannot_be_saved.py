# wrong: JournalError
"""What it keeps of an item is a till with a lock in it, which nobody can save."""

import threading

import pullstream as ps


class Till:
    def __init__(self):
        self.lock = threading.Lock()
        self.total = 0

    def add(self, price):
        with self.lock:
            self.total += price
            return self.total


@ps.transformer
async def takings(upstream, ctx):
    async for batch in ctx.batches(upstream):
        for item, price in batch.values:
            till = ctx.memory.get(item) or Till()
            total = till.add(price)
            ctx.memory.at(batch.time)[item] = till
            yield ps.Batch(batch.time, [(item, total)])
