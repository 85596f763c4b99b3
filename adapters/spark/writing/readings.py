"""Readings of a source by Spark, and the reasons for a second one."""

import re
import time
from typing import TYPE_CHECKING, Any

import attrs

from ..failures import essence

_WRAPPED = re.compile(r"\A[\w.]+PythonException: .*(?=Traceback)|\n *SQLSTATE: \w+\Z")
"""The text that Spark writes around what a Python worker raised."""

if TYPE_CHECKING:
    from pyspark import SparkContext

REPORTED_SECONDS = 5.0
"""Seconds that the failure of a task may take until Spark's own record of tasks has it."""

TAG = "pullstream-"
"""The beginning of the tag that the jobs of one run have."""

STAGE_ATTEMPTS = 4
"""The number of times that Spark computes a stage of which it loses what it gave, unless it is told otherwise."""

MOST_TASKS = 100_000
"""The most tasks of a stage that are looked through: as many as Spark keeps."""

AGAIN = "can be read once"
"""Words of every refusal of a second reading, by which it is told from a failure."""


@attrs.frozen
class Reading:
    """A task that reads a source; all of it is Spark's, by its own numbers. -1, or None, is what there is not."""

    stage: int = -1
    partition: int = -1
    attempt: int = -1
    execution: str | None = None
    tags: str | None = None

    @classmethod
    def of(cls, hello: dict[str, Any]) -> "Reading":
        """The task that said this hello."""
        return cls(**{field.name: hello[field.name] for field in attrs.fields(cls) if field.name in hello})

    def retries(self, before: "Reading") -> bool:
        """Whether it is the same work as an earlier one, which Spark does again."""
        return self.stage == before.stage != -1 and self.partition == before.partition

    def shares_its_action(self, before: "Reading") -> bool:
        """Whether both are for the same action of the user's."""
        if self.execution is not None and self.execution == before.execution:
            return True
        # What this toolkit reads is several jobs, outside of any execution of SQL's, and under a tag of their own.
        return any(tag.startswith(TAG) for tag in _tags(self) & _tags(before))

    def goes_on(self, context: "SparkContext") -> bool:
        """Whether Spark still works on it; blocks, a moment."""
        try:
            return self.stage in context.statusTracker().getActiveStageIds()
        except Exception:  # noqa: BLE001 - a context that was stopped has no active stages, in whatever words
            return False

    def failed_before(self, context: "SparkContext") -> str | None:
        """The failure for which Spark tries the task again, without Java's frames; blocks, a moment.

        None if none is known: the task had succeeded, and what it gave was lost with an executor.
        """
        deadline = time.monotonic() + REPORTED_SECONDS
        while True:
            # The record is kept by a thread of Java's that is told of a failure a moment after the next attempt begins.
            try:
                failure = self._recorded(context)
            except Exception:  # noqa: BLE001 - Spark's record is no public API: where it is not as here, nothing is known
                return None
            if failure is not None or self.attempt < 1 or time.monotonic() > deadline:
                return failure
            time.sleep(0.02)

    def _recorded(self, context: "SparkContext") -> str | None:
        java: Any = context._jsc  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - no public API tells
        store: Any = java.sc().statusStore()
        found: list[tuple[int, str]] = []
        for stage_attempt in range(STAGE_ATTEMPTS):
            tasks: Any = store.taskList(self.stage, stage_attempt, MOST_TASKS)
            for number in range(tasks.size()):
                task: Any = tasks.apply(number)
                message: Any = task.errorMessage()
                if task.index() == self.partition and message.isDefined() and AGAIN not in message.get():
                    found.append((task.taskId(), message.get()))
        return _WRAPPED.sub("", essence(min(found)[1])) if found else None


def _tags(reading: Reading) -> set[str]:
    return set((reading.tags or "").split(","))
