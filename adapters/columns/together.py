"""The rows of several times in one query, because each query costs as much as thousands of rows; then split again."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from ..arrow import ArrowRows, RowForm
from .frames import Frame, rows_of
from .package import np, pl

TIME: Final = "__time__"
"""The column with the number of each row's time."""


def alike(parts: Sequence[ArrowRows], schema: Any) -> bool:
    """Whether the columns of parts have the types of a schema, so one query gives the same as a query for each."""
    return all(part.schema.equals(schema) for part in parts)


def numbered(frame: Frame | None, times: Iterable[Sequence[ArrowRows]]) -> Frame | None:
    """A frame with the number of each row's time, given the parts of each time."""
    if frame is None:
        return None
    sizes = [sum(map(len, parts)) for parts in times]
    return frame.with_columns(pl.Series(TIME, np.repeat(np.arange(len(sizes)), sizes)))


def by_number(where: str, frame: Frame, form: RowForm, count: int) -> list[Sequence[Any]]:
    """The rows of each of `count` times, in the order of a frame with the numbers of the times."""
    frame = frame.sort(TIME, maintain_order=True)
    rows = rows_of(where, frame.drop(TIME), form)
    ends = np.searchsorted(frame[TIME].to_numpy(), np.arange(count + 1)).tolist()
    return [rows[begin:end] for begin, end in pairwise(ends)]
