"""2.1 What is printed, and one ahead.

First: what does this program print at each limit? It prints "reads" when the source is asked for a value, and "gets"
when the sink has a batch. Fill in the lists, a string for each line, such as "reads 8" or "gets [8, 9]".

    def read(n):                          # called for each value, when it is asked for
        print(f"reads {n}")
        return n

    @ps.sink
    async def gets(upstream, ctx):        # takes batches as they come
        async for batch in ctx.batches(upstream):
            print(f"gets {batch.values}")

    ps.run(ps.pipe(ps.unfold(1, lambda n: (read(n), n + 1) if n < 4 else None), gets()), limit=...)

Second: write a transformer `one_ahead()`. While the consumer works on a value, it asks for the next one, and no more:
when a value is answered, at most one more has been read.
"""

import pullstream as ps

AT_LIMIT_1 = []
AT_LIMIT_2 = []


def one_ahead():
    return ps.map(lambda value: value)  # this one never asks ahead
