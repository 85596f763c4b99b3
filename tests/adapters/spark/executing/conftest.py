"""Run a partition without Spark: Arrow batches in, Arrow batches out, in this process."""

import threading

import pyarrow as pa
import pytest

import pullstream as ps
from adapters.spark.executing.partition import PartitionPlan, PartitionRun
from pullstream.blueprint import Site


@pytest.fixture
def partition():
    def made(batches, *transformers, schema, keys=(), time=None, as_="rows", names=("n",)):
        given = {name: place for place, name in enumerate([time, *keys]) if name in schema.names}
        modules = ps.pipe(*transformers).modules
        plan = PartitionPlan(modules, Site.here(), as_, tuple(names), tuple(keys), time, schema, given)
        return PartitionRun(plan, iter(batches))

    return made


@pytest.fixture
def ran(partition):
    """A function that runs a partition to its end, and returns the rows as dicts and the exception."""

    def run(*args, **kwargs):
        results = partition(*args, **kwargs).results()
        rows = []
        while True:
            try:
                rows.extend(next(results).to_pylist())
            except StopIteration as end:
                return rows, end.value

    return run


@pytest.fixture(autouse=True)
def nothing_left():
    before = set(threading.enumerate())
    yield
    assert [t.name for t in threading.enumerate() if t not in before and t.name.startswith("pullstream ")] == []


@pytest.fixture
def numbers():
    def made(count, size=10):
        for start in range(0, count, size):
            yield pa.record_batch({"c0": list(range(start, min(count, start + size)))})

    return made
