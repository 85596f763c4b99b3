"""A program for the tests to kill: Spark reads a source with a journal as a stream, and writes it to files.

Before its last day it waits to be killed, so that it never ends by itself.
"""

import sys

import trio

import pullstream as ps
from adapters import spark
from tests.sampling import amount

DAYS, ROWS = amount(16, 64), 25


@ps.source
async def days(ctx, last):
    """Emit `ROWS` rows per day; completed days are not computed again."""
    for day in range(DAYS):
        if day == last:
            await trio.sleep_forever()
        if not ctx.done(day):
            await trio.sleep(0.02)
            yield ps.Batch(day, [(day, day * ROWS + n) for n in range(ROWS)])


def into_files(session, folder, last=DAYS):
    handle = spark.register_source(
        "days", days(last), "day BIGINT, n BIGINT", offsets="times", journal=folder / "journal", session=session
    )
    with handle:
        frame = session.readStream.format("pullstream").option("maxRowsPerBatch", 2 * ROWS).load("days")
        writer = frame.writeStream.option("checkpointLocation", str(folder / "checkpoint")).format("parquet")
        writer.trigger(availableNow=True).start(str(folder / "rows")).awaitTermination()


if __name__ == "__main__":
    from pathlib import Path

    into_files(spark.session(master="local[2]"), Path(sys.argv[1]), DAYS - 1)
