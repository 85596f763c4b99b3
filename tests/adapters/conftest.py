"""Fixtures for all tests of the adapters: one shared Spark session, and a function that waits until Spark is idle.

No test requires an end within seconds, because a busy machine may take much longer. Instead, a test cancels work that
would otherwise run for an hour.
"""

import time

import pytest

from adapters import spark


@pytest.fixture(scope="session")
def session():
    """The shared Spark session; starting one takes seconds."""
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
