"""Spark tasks that read a source, and the reasons why Spark reads it again."""

import re
import time
from typing import Any

import attrs

from ..failures import essence
from ..types import SparkContext

_WRAPPED = re.compile(r"\A[\w.]+PythonException: .*(?=Traceback)|\n *SQLSTATE: \w+\Z")
"""The text that Spark adds around an exception of a Python worker."""


REPORTED_SECONDS = 5.0
"""Seconds within which Spark's record of tasks must show a failed one."""

TAG = "pullstream-"
"""The prefix of the tag of a run's jobs."""

STAGE_ATTEMPTS = 4
"""The number of attempts that Spark makes for a stage whose results are lost, by default."""

MOST_TASKS = 100_000
"""The maximum number of tasks of a stage to search: as many as Spark keeps."""

AGAIN = "can be read once"
"""Text in every refusal of a second read, which distinguishes it from a failure."""


@attrs.frozen
class ReadingTask:
    """A Spark task that reads a source, by Spark's numbers; -1 or None is unknown."""

    stage: int = -1
    partition: int = -1
    attempt: int = -1
    execution: str | None = None
    tags: str | None = None

    @classmethod
    def of(cls, hello: dict[str, Any]) -> "ReadingTask":
        """Get the task from its hello."""
        return cls(**{field.name: hello[field.name] for field in attrs.fields(cls) if field.name in hello})

    def retries(self, before: "ReadingTask") -> bool:
        """Whether it repeats the work of an earlier task."""
        return self.stage == before.stage != -1 and self.partition == before.partition

    def shares_its_action(self, before: "ReadingTask") -> bool:
        """Whether both belong to the same action of the user."""
        if self.execution is not None and self.execution == before.execution:
            return True
        # A read by pullstream consists of several jobs, which are outside of any SQL execution and share a tag.
        return any(tag.startswith(TAG) for tag in _tags(self) & _tags(before))

    def runs(self, context: "SparkContext") -> bool:
        """Whether Spark is still running it; blocks briefly."""
        try:
            return self.stage in context.statusTracker().getActiveStageIds()
        except Exception:  # noqa: BLE001 - a stopped context has no active stages, whatever error it raises
            return False

    def failed_before(self, context: "SparkContext") -> str | None:
        """Return the failure that made Spark retry the task, without Java's frames; blocks briefly.

        None if there is none: the task had succeeded, and its result was lost with an executor.
        """
        deadline = time.monotonic() + REPORTED_SECONDS
        while True:
            # A thread in Java keeps the record, and may learn of a failure shortly after the next attempt starts.
            try:
                failure = self._recorded(context)
            except Exception:  # noqa: BLE001 - the record is not a public API: if it differs, nothing is known
                return None
            if failure is not None or self.attempt < 1 or time.monotonic() > deadline:
                return failure
            time.sleep(0.02)

    def _recorded(self, context: "SparkContext") -> str | None:
        java: Any = context._jsc  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - there is no public API
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


def _tags(reading: ReadingTask) -> set[str]:
    return set((reading.tags or "").split(","))
