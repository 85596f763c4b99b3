"""What all tests share."""

import os
import re
import signal
from collections import defaultdict
from pathlib import Path

import pytest

from tests.sampling import sample

ROOT = Path(__file__).parents[1]


def pytest_configure():
    """Show every frame of what fails, and let programs that tests start be of this checkout, and be interrupted.

    What is installed beside it has no adapters at its top, and may be older. In the background tests run with
    interrupts ignored, which those programs would take over.
    """
    os.environ["PULLSTREAM_TRACEBACK"] = "full"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow every case outside the sample of a test that is marked `sampled`."""
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
    """Give each file to one worker as a whole, and all tests that share the Spark session to the same worker."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            shared = SPARK.search(nodeid) and not OWN_SESSION.search(nodeid)
            return "spark" if shared else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


SPARK = re.compile("spark|structured_streaming")
OWN_SESSION = re.compile(r"spark/(connect|cluster)/|test_(ended|gateway|memory|other_sessions|retries|starting)\.py")
"""Tests that start a Java of their own, in another process."""
