"""One measurement, in a separate process: `python -m tests.benchmarks.measuring WORKLOAD WAY SIZE SECONDS`.

In the first run, nothing is warm except for imports and data. Then there are at least a few warm runs, for the given
seconds, and their median counts. The process compares every answer with its first, and the caller compares it with the
limit's answer.
"""

import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import attrs

from tests.benchmarks.workload import LIMIT, ROOT, Run, Shape, Workload

LONGEST = 900
"""Seconds after which a measurement is given up."""
LEAST_WARM, MOST_WARM = 3, 9
LONG = 2.0
"""Seconds of a first run after which no warm run is needed."""


@attrs.frozen
class Measured:
    """The result of one process."""

    first: float
    """Seconds of the first run."""
    warm: float
    """Seconds of a warm run; of the first run if it took so long that there is no other."""
    megabytes: float
    """The growth of the process's peak memory in the first run."""
    digest: str
    answer: str
    """The beginning of the answer, for errors."""


class Failure(Exception):
    """A measurement that gives no figure: it failed, took too long, or its answer is wrong."""


def once(workload: Workload, run: Run) -> tuple[float, Any]:
    gc.collect()
    clock = time.perf_counter if workload.by_the_clock else time.process_time
    begin = clock()
    answer = run()
    seconds = clock() - begin
    return answer if workload.own_time else (seconds, answer)


def summary(workload: Workload, answer: Any, shape: Shape | None) -> tuple[str, str]:
    """The digest and the beginning of an answer."""
    if shape is not None:
        answer = shape(answer)
    if not workload.ordered:
        answer = sorted(answer)
    text = repr(answer)
    return hashlib.sha256(text.encode()).hexdigest(), text if len(text) < 120 else f"{text[:120]}... ({len(answer)})"


def measure(workload: Workload, way: str, size: int, seconds: float) -> Measured:
    prepared = workload.ways[way].prepare(size)
    run, shape = prepared if isinstance(prepared, tuple) else (prepared, None)
    before = megabytes()
    first, answer = once(workload, run)
    added = megabytes() - before
    digest, text = summary(workload, answer, shape)
    del answer
    warm: list[float] = []
    until = time.monotonic() + seconds - first
    least = LEAST_WARM if seconds and first < LONG else 0
    while len(warm) < least or (time.monotonic() < until and len(warm) < MOST_WARM):
        spent, answer = once(workload, run)
        if summary(workload, answer, shape)[0] != digest:
            raise Failure(f"run {len(warm) + 2} gave another answer")
        warm.append(spent)
    return Measured(first, statistics.median(warm or [first]), added, digest, text)


def megabytes() -> float:
    """The peak memory of this process so far."""
    if sys.platform != "linux":
        return 0.0
    # Not ru_maxrss, which includes the memory of the parent before the fork.
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def answered(module: str, *arguments: str) -> Any:
    """Run a module in a separate process; return the JSON that it prints. `Failure` has the reason if there is none."""
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        options: Any = {"cwd": ROOT, "env": os.environ | {"TMPDIR": folder}, "capture_output": True, "text": True}
        try:
            done = subprocess.run(command, **options, check=False, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            raise Failure(f"took more than {LONGEST} s") from None
    # Some toolkits print, so only the last line counts.
    *_, last = done.stdout.strip().splitlines() or [""]
    if done.returncode or not last.startswith(("{", "[")):
        raise Failure((done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1])
    return json.loads(last)


def in_a_process(workload: Workload, way: str, size: int, seconds: float) -> Measured:
    result = answered("measuring", workload.name, way, str(size), str(seconds))
    if "failed" in result:
        raise Failure(result["failed"])
    return Measured(**result)


def checked(workload: Workload, way: str, size: int, seconds: float) -> tuple[Measured, Measured]:
    """Measure the limit and then the way, at the same size; their answers must be equal."""
    limit = in_a_process(workload, LIMIT, size, seconds)
    found = in_a_process(workload, way, size, seconds)
    if found.digest != limit.digest:
        raise Failure(f"wrong answer: {found.answer} instead of {limit.answer}")
    return limit, found


def main() -> None:
    """Measure what the command line names, and print the result as one line."""
    from tests.benchmarks.catalogue import WORKLOADS

    name, way, size, seconds = sys.argv[1:]
    try:
        result = attrs.asdict(measure(WORKLOADS[name], way, int(size), float(seconds)))
    except Exception as exc:
        result = {"failed": f"{type(exc).__name__}: {exc}"}
    print("\n" + json.dumps(result))


if __name__ == "__main__":
    main()
