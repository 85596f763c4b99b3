"""A queue, and a semaphore that counts what may be asked for."""

from collections import deque
from contextlib import ExitStack

import trio

import pullstream as ps


@ps.transformer
async def read_ahead(upstream, ctx, n):
    room, there = trio.Semaphore(n), trio.Semaphore(0)
    kept = deque()

    async def ask():
        try:
            while True:
                await room.acquire()
                batch = await upstream.ask(1)
                hold = ExitStack()
                if batch is not ps.DONE:
                    hold.enter_context(ctx.hold(batch.time))
                kept.append((batch, hold))
                there.release()
                if batch is ps.DONE:
                    return
        except Exception as failure:
            kept.append((failure, None))
            there.release()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        while True:
            await there.acquire()
            batch, hold = kept.popleft()
            if batch is ps.DONE:
                return
            if hold is None:
                raise batch
            room.release()
            yield batch
            hold.close()
