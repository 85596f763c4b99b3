"""Detection of shuffles that Spark recomputes during a read.

A read uses several jobs. If an executor with files of a shuffle is lost between two of them, the next job runs those
map tasks again. If they place rows as before, this has no effect. If they do not (a random salt, a function that calls
a service), some rows of delivered partitions come again, and others never; Spark itself compares only within one job.
The evidence is Spark's record of its jobs: a later job of a read skips the map stages, so a map stage that was
submitted means that a shuffle was recomputed.
"""

import re
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from ..errors import ShuffleRerunError
from .arrow_rdd import job_numbers, map_stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE: Final = 10.0
"""The seconds in which Spark's record, which is written asynchronously, must show the end of a job."""

_REFUSED: Final = re.compile(r"aborted due to stage failure: (?!Task )[^\n]*(?:indeterminate|roll(?:ing )?back)")
"""Spark's message for a job that has begun to read a shuffle whose map tasks then placed rows elsewhere."""


class Reruns:
    """The known shuffles of a read; any thread may call it."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session
        self._known: set[tuple[int, int]] = set()
        self._turn = threading.Lock()
        self.due = False
        """Whether an unknown shuffle has run, for the first time or again."""

    def look(self, tag: str) -> None:
        """Check the jobs with a tag, all of which have ended."""
        end = time.monotonic() + PATIENCE
        while not (numbers := job_numbers(self._session, tag)):
            if time.monotonic() > end:
                self.due = True
                return
            time.sleep(0.002)
        self.look_at(numbers, end)

    def look_at(self, jobs: Iterable[int], end: float | None = None) -> None:
        """Check jobs that have ended."""
        end = end or time.monotonic() + PATIENCE
        jobs = list(jobs)
        while (ran := map_stages(self._session, jobs)) is None:
            if time.monotonic() > end:
                # No record does not mean that nothing ran.
                self.due = True
                return
            time.sleep(0.002)
        with self._turn:
            new = ran - self._known
            self._known |= new
            self.due = self.due or bool(new)


def refused(message: str) -> bool:
    """Whether a message says that Spark itself detected, within one job, that a shuffle placed rows elsewhere."""
    return _REFUSED.search(message) is not None


def changed(what: str) -> ShuffleRerunError:
    """Make the error for a read that cannot continue."""
    return ShuffleRerunError(
        f"Spark recomputed a shuffle during this read (an executor or its files were lost), and "
        f"{what}: to continue might lose rows and repeat others. Place rows by values that do not change "
        f"(no random numbers, and no monotonically_increasing_id() after a shuffle), or store them before they are "
        f"read, where no executor can lose them: df.checkpoint(), or files"
    )
