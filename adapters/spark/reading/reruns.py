"""Detection of shuffles that Spark recomputes during a read, and digests that compare the rows read before and after.

A read uses several jobs. If an executor with files of a shuffle is lost between two of them, the next job runs those
map tasks again. If they place rows as before, this has no effect. If they do not (a random salt, a function that calls
a service), some rows of delivered partitions come again, and others never; Spark itself compares only within one job.
The evidence is Spark's record of its jobs: a later job of a read skips the map stages, so a map stage that was
submitted means that a shuffle was recomputed.
"""

import re
import threading
import time
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from typing import Any, Final

from ...arrow import Array, RecordBatch, pa
from ...arrow.package import np
from ..errors import ShuffleRerunError
from ..types import SparkSession
from .arrow_rdd import map_stages

PATIENCE: Final = 10.0
"""The seconds in which Spark's record, which is written asynchronously, must show the end of a job."""

REFUSED: Final = re.compile(r"aborted due to stage failure: (?!Task )[^\n]*(?:indeterminate|roll(?:ing )?back)")
"""Spark's message for a job that has begun to read a shuffle whose map tasks then placed rows elsewhere."""


class Reruns:
    """The known shuffles of a read; any thread may call it."""

    def __init__(self, session: "SparkSession") -> None:
        self._session = session
        self._known: set[tuple[int, int]] = set()
        self._turn = threading.Lock()
        self.due = False
        """Whether an unknown shuffle has run, for the first time or again."""

    def look(self, jobs: Callable[[], Collection[int]]) -> None:
        """Check jobs that have ended; if none is recorded yet, look again until there are some."""
        end = time.monotonic() + PATIENCE
        numbers: Collection[int] = ()
        while not (numbers := numbers or jobs()) or (ran := map_stages(self._session, numbers)) is None:
            if time.monotonic() > end:
                # No record does not mean that nothing ran.
                self.due = True
                return
            time.sleep(0.002)
        with self._turn:
            new = ran - self._known
            self._known |= new
            self.due = self.due or bool(new)


def changed(what: str) -> ShuffleRerunError:
    """Make the error for a read that cannot continue."""
    return ShuffleRerunError(
        f"Spark recomputed a shuffle during this read (an executor or its files were lost), and "
        f"{what}: to continue might lose rows and repeat others. Place rows by values that do not change "
        f"(no random numbers, and no monotonically_increasing_id() after a shuffle), or store them before they are "
        f"read, where no executor can lose them: df.checkpoint(), or files"
    )


_ODD: Final = 0x9E3779B97F4A7C15
"""A factor in hashes, so that the order of columns and of a list's elements counts."""


def digest(batches: Iterable[RecordBatch]) -> tuple[int, int]:
    """Return the number of rows, and the sum of their hashes, which does not depend on the order of the rows.

    A row's hash combines pandas' hashes of its values, column by column. It must be cheap and detect that Spark has put
    other rows into a partition. It does not protect against rows chosen to collide.
    """
    rows, total = 0, 0
    for batch in batches:
        rows += batch.num_rows
        total += int(_of_rows(batch.columns, batch.num_rows).sum())
    return rows, total % (1 << 64)


def _mixed(values: Any) -> Any:
    return import_module("pandas").util.hash_array(values, categorize=False)


def _of_rows(columns: Iterable[Array], rows: int) -> Any:
    """Hash the values of each row."""
    hashes = np.zeros(rows, np.uint64)
    for column in columns:
        hashes = hashes * np.uint64(_ODD) + _of_values(column)
    return _mixed(hashes)


def _of_values(column: Array) -> Any:
    """Hash each value of a column."""
    kind, types = column.type, pa.types
    if types.is_struct(kind):
        hashes = _of_rows(column.flatten(), len(column))
    elif types.is_map(kind):
        entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _of_values(column.cast(pa.list_(entry)))
    elif types.is_list(kind) or types.is_large_list(kind):
        hashes = _of_lists(column)
    elif types.is_boolean(kind):
        hashes = _mixed(column.fill_null(False).to_numpy(zero_copy_only=False))  # noqa: FBT003 - pyarrow's own
    elif types.is_primitive(kind):
        # The bits of numbers, dates and times.
        hashes = _mixed(column.view(f"int{kind.bit_width}").fill_null(0).to_numpy())
    else:
        if types.is_decimal(kind):
            column = column.view(pa.binary(kind.byte_width))
        elif not (types.is_string(kind) or types.is_binary(kind) or str(kind).startswith("large_")):
            column = pa.array(map(repr, column.to_pylist()), pa.string())
        hashes = _mixed(column.to_numpy(zero_copy_only=False))
    if column.null_count and not types.is_null(kind):
        hashes = np.where(column.is_valid().to_numpy(zero_copy_only=False), hashes, np.uint64(_ODD))
    return hashes


def _of_lists(column: Array) -> Any:
    """Hash each list: the sum of its elements' hashes, each with its place, by differences of running sums."""
    lengths = column.value_lengths().fill_null(0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    elements = column.flatten()
    places = (np.arange(len(elements)) - np.repeat(starts, lengths)).astype(np.uint64)
    sums = np.zeros(len(elements) + 1, np.uint64)
    np.cumsum(_mixed(_of_values(elements) + places * np.uint64(_ODD)), out=sums[1:])
    return _mixed(sums[ends] - sums[starts] + lengths.astype(np.uint64))
