"""Shuffles that Spark computes again while a read is under way, and how that is noticed.

The partitions of a read are read by several jobs. When an executor is lost between two of them, with files of a
shuffle, the next one has these map tasks run again. Where they place rows as before, nothing is to be seen of it. Where
they do not (a random salt, a function that asks a service), rows of partitions that were handed on come again, and
others never; and Spark itself compares within one job only. What tells is its record of the jobs: a later job of a read
skips the map stages, and one of which any was submitted has computed a shuffle again.
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
"""Seconds for Spark's record of its jobs, which is written beside them, to say that one has ended."""

_REFUSED: Final = re.compile(r"aborted due to stage failure: (?!Task )[^\n]*(?:indeterminate|roll(?:ing )?back)")
"""Spark's words for a job that has begun to read a shuffle, and whose map tasks have placed rows elsewhere since."""


class Reruns:
    """The shuffles of a read, as far as they are known; any thread may look."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session
        self._known: set[tuple[int, int]] = set()
        self._turn = threading.Lock()
        self.due = False
        """Whether a shuffle has run, again or for the first time, that was not known to."""

    def look(self, tag: str) -> None:
        """Look at the jobs with a tag, all of which have ended."""
        end = time.monotonic() + PATIENCE
        while not (numbers := job_numbers(self._session, tag)):
            if time.monotonic() > end:
                self.due = True
                return
            time.sleep(0.002)
        self.look_at(numbers, end)

    def look_at(self, jobs: Iterable[int], end: float | None = None) -> None:
        """Look at jobs that have ended."""
        end = end or time.monotonic() + PATIENCE
        jobs = list(jobs)
        while (ran := map_stages(self._session, jobs)) is None:
            if time.monotonic() > end:
                # Nothing is known of it, which is not to say that nothing was.
                self.due = True
                return
            time.sleep(0.002)
        with self._turn:
            new = ran - self._known
            self._known |= new
            self.due = self.due or bool(new)


def refused(message: str) -> bool:
    """Whether Spark has noticed within one job that a shuffle has placed rows elsewhere, and says so in its message."""
    return _REFUSED.search(message) is not None


def changed(what: str) -> ShuffleRerunError:
    """The error for a read that cannot go on."""
    return ShuffleRerunError(
        f"Spark has computed a shuffle again in the midst of this read (an executor was lost, or files of its), and "
        f"{what}: going on might lose rows, and give others twice. Have the rows placed by what is the same each time "
        f"(no random numbers, and no monotonically_increasing_id() after a shuffle), or keep them, before they are "
        f"read, where no executor takes them along: df.checkpoint(), or files"
    )
