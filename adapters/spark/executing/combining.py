"""Fold a partition on an executor: keep a table of states for each time, and emit them after every `ROWS` rows.

Rows are folded in the order in which they arrive: Spark need not sort them, and no stream runs in between.
"""

import pickle
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from typing import Any, cast

import attrs

from pullstream import Fold
from pullstream.authoring import Accumulator, Site, blame

from ...arrow import As, RecordBatch, pa
from ..reading.timed import Cutting
from ..types import pyspark
from .partition import Results, shown

ROWS = 500_000
"""The number of rows after which states are emitted, which limits memory regardless of the keys and times."""


@attrs.frozen
class CombiningPlan:
    """An executor's work. Each output row has the time, if there is one, and the pickled states of its keys."""

    fold: Fold[Any, Any]
    key: Callable[[Any], Hashable]
    as_: As
    names: tuple[str, ...]
    time: str | None
    """The `time=` argument, for messages."""
    schema: Any
    site: Site


def run(pickled: bytes, batches: Iterator[RecordBatch]) -> Results:
    """Fold a partition. Spark calls this; it is not a generator, so an unpickling error is raised at once."""
    plan = cast("CombiningPlan", pickle.loads(pickled))  # noqa: S301 - from the driver
    return _results(plan, batches)


def _results(plan: CombiningPlan, batches: Iterator[RecordBatch]) -> Results:
    try:
        yield from _combined(plan, batches)
    except Exception as exc:  # noqa: BLE001 - raised in Spark's generator, without our frames
        blame(exc, f"reduce_by_key, composed at {plan.site}")
        return shown(exc)
    return None


def _combined(plan: CombiningPlan, batches: Iterator[RecordBatch]) -> Iterator[RecordBatch]:
    accumulator = Accumulator(plan.fold, key=plan.key)
    cutting = Cutting(plan.as_, plan.names, plan.time, jumbled=True)
    tables: dict[Hashable, dict[Hashable, Any]] = defaultdict(accumulator.new)
    rows = 0
    for batch in batches:
        for answer in cutting.cut([batch]):
            for run in answer.runs():
                accumulator.add([tables[run.time]], run.values, [])
        rows += len(batch)
        if rows >= ROWS:
            yield _packed(plan, tables)
            tables.clear()
            rows = 0
    if tables:
        yield _packed(plan, tables)


def _packed(plan: CombiningPlan, tables: dict[Hashable, dict[Hashable, Any]]) -> RecordBatch:
    # cloudpickle pickles a class that cannot be imported here by value, for example one of the driver's main script. On
    # the driver it becomes the original class.
    states = pa.array([pyspark.cloudpickle.dumps(list(table.items())) for table in tables.values()], pa.binary())
    times = [] if len(plan.schema) == 1 else [pa.array(list(tables), plan.schema[0].type)]
    return pa.RecordBatch.from_arrays([*times, states], schema=plan.schema)
