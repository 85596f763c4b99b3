# wrong: R2
"""It asks for a thousand values and delivers them one by one."""

import pullstream as ps

AT_LIMIT_1 = ["reads 1", "gets [1]", "reads 2", "gets [2]", "reads 3", "gets [3]"]
AT_LIMIT_2 = ["reads 1", "reads 2", "gets [1, 2]", "reads 3", "gets [3]"]


@ps.transformer
async def one_ahead(upstream, ctx):
    while (batch := await upstream.ask(1000)) is not ps.DONE:
        for value in batch.values:
            yield ps.Batch(batch.time, [value])
