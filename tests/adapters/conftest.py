"""What the tests of the adapters share: one Spark session for all of them, and a way to wait until it is idle."""

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
def seconds_until_idle(session):
    """How long it takes until Spark runs no job; fails after ten seconds."""

    def wait():
        start = time.monotonic()
        while session.sparkContext.statusTracker().getActiveJobsIds():
            assert time.monotonic() - start < 10, "a Spark job is still running"
            time.sleep(0.01)
        return time.monotonic() - start

    return wait
