"""All workloads, in the order of the tables."""

from tests.benchmarks.workload import Workload
from tests.benchmarks.workloads import merging, passing, short, waiting, words

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
        short.SERVICE,
    )
}
