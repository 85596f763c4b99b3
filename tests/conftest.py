"""Settings and fixtures of all tests."""

import gc
import os
import re
import signal
from collections import defaultdict
from pathlib import Path

import pytest

from tests.sampling import FULL, sample

ROOT = Path(__file__).parents[1]
QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"


def pytest_configure():
    """Show all frames of failures, and make programs that tests start use this checkout and heed interrupts.

    An installed package may be older, and has no top-level adapters. In the background, tests run with
    interrupts ignored, which those programs would inherit. They keep what Python compiles, even where the run itself
    does not: half of a small program's time is compiling the toolkit. Each Java of Spark starts with half the work if
    it neither optimizes code that runs for seconds nor verifies Spark's classes; the full run has Java as users do.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PULLSTREAM_TRACEBACK"] = "full"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    if FULL not in os.environ:
        os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def frozen():
    """Limit garbage collection to the objects of one test file; scanning all of a large process takes long."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def session():
    """The shared Spark session, because starting one takes seconds. Shuffles have few partitions for little data."""
    from pyspark import SparkContext

    from adapters import spark
    from tests.adapters.spark.helpers import QUICK_WORKERS

    was_active = SparkContext._active_spark_context is not None
    config = None if was_active else {"spark.sql.shuffle.partitions": "4", **QUICK_WORKERS}
    found = spark.session(app_name="tests", config=config)
    yield found
    if not was_active:
        found.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow every case outside the sample of a test that is marked `sampled`; begin with Spark.

    One worker has the shared session for a third of the run: if it began last, it would finish alone.
    """
    items.sort(key=lambda item: not SPARK.search(item.nodeid))
    tests = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow") and hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        kept = sample([case.callspec.params for case in cases], *cases[0].get_closest_marker("sampled").args)
        for number, case in enumerate(cases):
            if number not in kept:
                case.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each file to one worker as a whole, and tests that share a Spark session or server to one worker."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            if CONNECT.search(nodeid):
                return "connect"
            shared = SPARK.search(nodeid) and not OWN_SESSION.search(nodeid)
            return "spark" if shared else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


SPARK = re.compile("spark|structured_streaming")
CONNECT = re.compile(r"spark/connect/|\[connect")
OWN_SESSION = re.compile(r"spark/cluster/|test_(alone|ended|starting)\.py")
"""Tests that start another Java in another process."""
