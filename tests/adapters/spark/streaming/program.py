"""A program for the tests to kill: it counts by key, and writes a file per micro-batch before Spark commits it."""

import sys

import trio

import pullstream as ps
from adapters import files, spark

SCHEMA = "number long, key string"


PAUSE = {"seconds": 0.0}
"""The delay of Spark's commit after the file, in seconds."""


@ps.sink
async def lingering(upstream, ctx):
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time):
                ctx.notify_at(time)
            case ps.Completed():
                await trio.sleep(PAUSE["seconds"])


def counting(source, out):
    counts = ps.pipe(source, ps.count_by_key(lambda row: row.key))
    return ps.pipe(counts, ps.tee(files.write_jsonl(f"{out}/{{time}}.jsonl"), lingering()))


def main(master, landing, checkpoint, out, seconds, journal=None):  # noqa: PLR0917 - from the command line
    session = spark.session(master=master)
    df = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(landing)
    source = spark.from_streaming(df, checkpoint=checkpoint, trigger="availableNow")
    PAUSE["seconds"] = float(seconds)
    ps.run(counting(source, out), journal=journal)


if __name__ == "__main__":
    main(*sys.argv[1:])
