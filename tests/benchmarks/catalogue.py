"""All workloads, in the order of the tables."""

from tests.benchmarks.workload import Workload
from tests.benchmarks.workloads import joining, looping, merging, passing, short, starting, waiting, windows, words

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
        starting.IMPORT,
        starting.FIRST,
        windows.TUMBLING,
        windows.SLIDING,
        windows.SESSIONS,
        windows.SORTED,
        short.SERVICE,
    )
}
