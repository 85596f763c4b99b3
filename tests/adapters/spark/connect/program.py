"""A program for the tests to kill: like the one for classic sessions, but with Spark Connect."""

import sys

import pullstream as ps
from adapters import spark
from tests.adapters.spark.streaming.program import PAUSE, SCHEMA, counting


def main(url, landing, checkpoint, out, seconds, journal=None):  # noqa: PLR0917 - from the command line
    """Count all available rows, then end."""
    session = spark.session(master=url)
    df = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(landing)
    source = spark.from_streaming(df, checkpoint=checkpoint, trigger="availableNow")
    PAUSE["seconds"] = float(seconds)
    ps.run(counting(source, out), journal=journal)


if __name__ == "__main__":
    main(*sys.argv[1:])
