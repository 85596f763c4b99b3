"""Whether a toolkit's ways all run, tiny and in one process: `python -m tests.benchmarks.smoke TOOLKIT`."""

import sys
import tempfile

from tests.benchmarks.catalogue import WORKLOADS
from tests.benchmarks.measuring import measure
from tests.benchmarks.workload import LIMIT


def main() -> int:
    """Say of each way whether it gives the limit's answer."""
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        for workload in WORKLOADS.values():
            for way in workload.ways.values():
                if way.toolkit == sys.argv[1]:
                    limit, found = (measure(workload, name, workload.smoke, 0) for name in (LIMIT, way.name))
                    right = limit.digest == found.digest
                    wrong += not right
                    print(
                        f"{workload.name} {way.name}: " + ("right" if right else f"{found.answer}, not {limit.answer}")
                    )
    return wrong


if __name__ == "__main__":
    sys.exit(main())
