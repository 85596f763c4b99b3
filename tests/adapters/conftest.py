"""What the tests of the adapters share: one Spark session for all of them, and a way to wait until it is idle.

Nothing is asserted to be over within seconds, which a busy machine may take for anything. What a test cancels would
otherwise go on for an hour, and that it is over at all is what tells.
"""

import time

import pytest

from adapters import spark


@pytest.fixture(scope="session")
def session():
    """The test run's Spark session; starting one takes seconds, so there is one."""
    from pyspark import SparkContext

    was_active = SparkContext._active_spark_context is not None
    found = spark.session(app_name="tests")
    yield found
    if not was_active:
        found.stop()


@pytest.fixture
def until_idle(session):
    """Wait until Spark runs no job; fails if one goes on."""

    def wait():
        start = time.monotonic()
        while session.sparkContext.statusTracker().getActiveJobsIds():
            assert time.monotonic() - start < 300, "a Spark job is still running"
            time.sleep(0.01)

    return wait
