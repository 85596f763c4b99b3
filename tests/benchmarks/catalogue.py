"""All workloads, in the order of the tables."""

from importlib import import_module

from tests.benchmarks.workload import WORKLOADS

for name in ("filing", "joining", "linear", "looping", "merging", "sparks", "starting", "waiting", "windows", "words"):
    import_module(f"tests.benchmarks.workloads.{name}")

# W3a before W3b, and W9 before W10.
IN_ORDER = sorted(WORKLOADS.values(), key=lambda workload: (int(workload.name[1:].rstrip("abcdef")), workload.name))
WORKLOADS.clear()
WORKLOADS.update({workload.name: workload for workload in IN_ORDER})
