"""All workloads, in the order of the tables."""

from tests.benchmarks.workload import Workload
from tests.benchmarks.workloads import (
    filing,
    joining,
    looping,
    merging,
    passing,
    short,
    sparks,
    starting,
    waiting,
    windows,
    words,
)

WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        passing.SUM,
        passing.TEN,
        waiting.ONE,
        waiting.MANY,
        words.WORDS,
        merging.MERGE,
        short.STOP,
        joining.JOIN,
        joining.WITHIN,
        looping.LOOP,
        sparks.OUT,
        sparks.INTO,
        sparks.STAGE,
        sparks.WINDOWS,
        filing.LINES,
        filing.CSV,
        filing.PARQUET,
        filing.BATCHES,
        filing.LINES_OUT,
        filing.PARQUET_OUT,
        starting.IMPORT,
        starting.FIRST,
        windows.TUMBLING,
        windows.SLIDING,
        windows.SESSIONS,
        windows.SORTED,
        short.SERVICE,
    )
}
