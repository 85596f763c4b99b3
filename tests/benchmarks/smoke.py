"""Check that all ways of a toolkit run, at tiny sizes in one process: `python -m tests.benchmarks.smoke TOOLKIT`."""

import sys
import tempfile

from tests.benchmarks.catalogue import WORKLOADS
from tests.benchmarks.measuring import measure
from tests.benchmarks.workload import LIMIT


def main() -> int:
    """Print for each way whether it gives the limit's answer."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        for workload in WORKLOADS.values():
            ways = [way.name for way in workload.ways.values() if way.toolkit == sys.argv[1]]
            if workload.spark or not ways:
                continue
            limit, *found = (measure(workload, way, workload.smoke, 0) for way in [LIMIT, *ways])
            for way, one in zip(ways, found, strict=True):
                right = limit.digest == one.digest
                wrong += not right
                print(f"{workload.name} {way}: " + ("right" if right else f"{one.answer}, not {limit.answer}"))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
