# ruff: noqa: N802 - the names are pyspark's
"""A job whose tasks are threads, so that attempts at a partition can be made to come and go as a test wants."""

import threading
import time
from types import SimpleNamespace

import pyarrow as pa
import pytest

import pullstream as ps
from adapters.spark.reading.pushed import PushedSource
from adapters.spark.reading.timed import TimedFrame
from pullstream.blueprint import Module, Source


class Job:
    """Stands for a DataFrame, its session and its context: `collect` runs a script that starts tasks.

    A script is called with the job; `job.task(partition, batches)` starts an attempt in a thread.
    """

    master = "local[2]"
    _jsc = "there is a Java side"
    _gateway = "that nobody started here"

    def __init__(self, script, contexts, partitions):
        self.script = script
        self.contexts = contexts
        self.partitions = partitions
        self.tasks = []
        self.cancelled = threading.Event()
        self.sparkSession = self.sparkContext = self

    # ---- what the source uses

    def mapInArrow(self, push, schema):
        self.push = push
        self.counted = next(c.cell_contents for c in push.__closure__ if isinstance(c.cell_contents, SimpleNamespace))
        return self

    speculates = False

    def collect(self):
        try:
            self.script(self)
        finally:
            for task in self.tasks:
                task.thread.join()
        if self.cancelled.is_set():
            raise OSError("the job was cancelled")
        counted = {task.partition: task.summary for task in self.tasks if task.summary is not None}
        for task in self.tasks:
            if task.partition not in counted:
                raise OSError(f"partition {task.partition} failed: {task.failure!r}")
        return list(counted.values())

    def addJobTag(self, tag):
        self.tag = tag

    def removeJobTag(self, tag):
        assert tag == self.tag

    def cancelJobsWithTag(self, tag):
        assert tag == self.tag
        self.cancelled.set()

    def statusTracker(self):
        return self

    def getConf(self):
        return {"spark.speculation": "true" if self.speculates else "false"}

    def accumulator(self, value, param):
        return SimpleNamespace(add=lambda told: self.contexts.told.extend(told), value=value)  # noqa: PLW0108 - of the thread that adds

    def getStageInfo(self, stage):
        return SimpleNamespace(numTasks=self.partitions)

    # ---- for scripts

    def task(self, partition, batches, attempt=0, *, counts=True):
        task = Task(self, partition, attempt, batches, counts)
        self.tasks.append(task)
        task.thread.start()
        return task


class Task:
    """An attempt at a partition, in a thread; `made` counts the batches it has made.

    One that does not count is one that Spark takes for failed, though its function came to its end.
    """

    def __init__(self, job, partition, attempt, batches, counts):
        self.made = 0
        self.failure = None
        self.ended = False
        self.partition = partition
        self.summary = None
        context = SimpleNamespace(
            partitionId=lambda: partition,
            attemptNumber=lambda: attempt,
            taskAttemptId=lambda: id(self),
            stageId=lambda: 7,
        )

        def counted():
            for batch in batches:
                self.made += 1
                yield batch

        def run():
            job.contexts.current = context
            job.contexts.told = []
            try:
                (summary,) = job.push(counted())
                self.ended = True
                if counts:
                    self.summary = tuple(summary.to_pylist()[0].values())
                    value = job.counted.value
                    value += job.contexts.told
            except Exception as exc:
                self.failure = exc

        self.thread = threading.Thread(target=run, daemon=True)

    def begun(self):
        """Wait until it has been told to go, and makes its first batch."""
        while not self.made:
            time.sleep(0.002)

    def join(self):
        self.thread.join(10)
        assert not self.thread.is_alive()


def batch(*numbers, **columns):
    """An Arrow batch as it travels: one column of numbers, and others."""
    return pa.record_batch({"c0": pa.array(numbers, pa.int64()), **columns})


def timed(*times):
    """A batch whose rows have these times, which are the values, too."""
    return batch(*times, time=pa.array(times, pa.int64()))


@pytest.fixture
def pushed(monkeypatch):
    """Make a source of a script; `pushed.job` is then its job."""
    import pyspark

    contexts = threading.local()
    monkeypatch.setattr(pyspark.TaskContext, "get", staticmethod(lambda: contexts.current))

    def make(script, *, partitions=1, time=None, as_="tuples", **options):
        make.job = Job(script, contexts, partitions)
        frame = TimedFrame(make.job, ("n",), time, None if time is None else "bigint")
        return Source((Module("from_dataframe", PushedSource, (frame,), (("as_", as_), *options.items())),))

    make.batch, make.timed = batch, timed
    yield make
    for task in make.job.tasks:
        task.join()


@ps.sink
async def stepwise(upstream, ctx, go, seen):
    """Asks when it is told to."""
    async for _ in go:
        answer = await upstream.ask(ctx.limit)
        seen.append(answer)
        if answer is ps.DONE:
            return


@pytest.fixture
def stepping():
    """The sink that asks when it is told to."""
    return stepwise
