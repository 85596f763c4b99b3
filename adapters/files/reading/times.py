"""Assign times to values: from the file's path, from a column, or from a function of the value."""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

import attrs
from more_itertools import unique_justseen

from pullstream import Batch
from pullstream.authoring import Ascending, Call, Sync, ascending, has_nan, some_of

from ...arrow import Shape, pa
from .errors import FileReadError, NoColumnError
from .formats import Bad, TablePiece, Values
from .listing import File


@attrs.frozen
class PathTime:
    """A time for all values of a file, taken from its path; made by `name_time` and `path_time`."""

    function: Callable[[str], Hashable]

    def of(self, path: str) -> Hashable:
        """Compute the time of a file; raises `FileReadError` if it has none."""
        time = self.function(path)
        if why := "the function given to path_time returned None" if time is None else no_time(time):
            raise FileReadError(path, f"has no time: {why}")
        return time


@attrs.frozen
class _Named:
    pattern: re.Pattern[str]
    convert: Callable[[str], Hashable]

    def __call__(self, path: str) -> Hashable:
        matches = list(self.pattern.finditer(path))
        if not matches:
            raise FileReadError(
                path, f"has no time: nothing in its path matches name_time's pattern, {self.pattern.pattern!r}"
            )
        text = matches[-1].group(1 if self.pattern.groups else 0)
        try:
            return self.convert(text)
        except Exception as exc:
            exc.add_note(f"converting {text!r}, in the path {path}, to a time")
            raise


def name_time(pattern: str, convert: Callable[[str], Hashable] = str) -> PathTime:
    r"""Take times from the names of files; pass the result as `time=` to a reader.

    `pattern` is a regular expression. Its last match in the path is used (a match in a file's name before its folders).
    `convert` makes a time from the match, or from the first group if the pattern has one.

    >>> from datetime import date
    >>> from pullstream import files
    >>> files.name_time(r"\d{4}-\d\d-\d\d", date.fromisoformat).function("in/2026-03-01/log-2026-03-02.csv.gz")
    datetime.date(2026, 3, 2)

    Files are read in the order of their times, then of their paths. A time is complete when the first file of the next
    time is read. With `follow` (see `Options`) the last time is complete only after `finish()`, and a file with an
    earlier time than one before it is an error. `path_time` takes any function of a path.
    """
    Sync("a name's time is known at once")(Call("name_time", name="convert"), convert)
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as exc:
        raise Call("name_time").refuse(f"needs a regular expression: {pattern!r}: {exc}") from None
    return PathTime(_Named(compiled, convert))


def path_time(function: Callable[[str], Hashable]) -> PathTime:
    """Take times from a function of a file's path (a str); pass the result as `time=` to a reader.

    >>> from pullstream import files
    >>> files.path_time(lambda path: int(path.rpartition("=")[2].partition("/")[0])).function("t/day=7/part-0.parquet")
    7
    """
    Sync("a path's time is known at once")(Call("path_time", name="function"), function)
    return PathTime(function)


class Timing:
    """Assigns times to values: to whole batches if the times are in order, else to runs that are in order."""

    def __init__(self, time: str | Callable[[Any], Hashable] | None, shape: Shape) -> None:
        self._column = time if isinstance(time, str) else None
        self._function = itemgetter(time) if isinstance(time, str) else time
        self._shape = shape
        self.by_row = callable(time)
        """Whether a time is a function of the row, so that all rows are created."""

    def timed(self, file: File, piece: Values | TablePiece, whole: Hashable) -> Iterator[Batch[Any] | Bad]:
        """Pair the values of a piece with their times; `whole` is the time of the whole file, if it has one."""
        if isinstance(piece, Values):
            values: Sequence[Any] = piece.values
        elif self._column is not None:
            yield from self._by_column(file, piece, self._column)
            return
        else:
            values = self._shape.of(piece.batch, piece.origin(file), piece.schema)
        if self._function is not None:
            yield from self._by_function(file, values, piece.line, self._function)
        elif values:
            yield Batch(whole, values)

    def _by_column(self, file: File, piece: TablePiece, name: str) -> Iterator[Batch[Any] | Bad]:
        batch = piece.batch
        begin = 0
        column = batch.column(name)
        if piece.schema is not None and column.type != piece.schema.field(name).type:
            column = column.dictionary_decode()
        if pa.types.is_nested(column.type):
            raise NoColumnError(
                file.path, f"has no times in the column {name!r}, whose type is {column.type}; check time="
            )
        bad: list[int] = []
        if column.null_count or pa.types.is_floating(column.type):
            bad = pa.compute.indices_nonzero(column.is_null(nan_is_null=True)).to_pylist()
        for row in (*bad, len(batch)):
            part, times = batch.slice(begin, row - begin), column.slice(begin, row - begin)
            origin = piece.rest(begin).origin(file)
            yield from self._shape.timed(part, times, origin=origin, schema=piece.schema)
            if row < len(batch):
                line = None if piece.line is None else piece.line + row
                value = batch.slice(row, 1).to_pylist()[0]
                yield Bad(value, _timeless(file, name, value, line))
            begin = row + 1

    def _by_function(
        self, file: File, values: Sequence[Any], line: int | None, function: Callable[[Any], Hashable]
    ) -> Iterator[Batch[Any] | Bad]:
        times, same, bad, ordered = [], False, True, False
        # `_one_by_one` raises such an error again, with its line; times that cannot be compared are not in order.
        with suppress(Exception):
            times = [function(value) for value in values]
            same = times.count(times[0]) == len(times)
            # Times that follow each other are often the same object.
            bad = None in times or any(map(no_time, times[:1] if same else unique_justseen(times, id)))
            ordered = not (bad or same) and ascending(times)
        if bad:
            yield from self._one_by_one(file, values, line, function)
        elif same:
            yield Batch(times[0], values)
        elif ordered:
            yield Batch.of(Ascending(times), values)
        else:
            # The engine compares the times of runs, and reports the place of an error.
            yield from Batch.of(times, values).runs()

    def _one_by_one(
        self, file: File, values: Sequence[Any], line: int | None, function: Callable[[Any], Hashable]
    ) -> Iterator[Batch[Any] | Bad]:
        for number, value in enumerate(values):
            at = None if line is None else line + number
            try:
                time = function(value)
                why = no_time(time)
                if time is None:
                    raise TypeError(f"{value!r} has no time: the function that computes times returned None")  # noqa: TRY301 - as what it raises
            except Exception as exc:  # noqa: BLE001 - the value has no time, and the policy decides what happens
                if self._column is not None:
                    yield Bad(value, _timeless(file, self._column, value, at))
                else:
                    exc.add_note(f"computing the time of a value in {file.path}{'' if at is None else f':{at}'}")
                    yield Bad(value, exc)
            else:
                if why is None:
                    yield Batch(time, [value])
                else:
                    yield Bad(value, FileReadError(file.path, f"has a value without a time: {why}; check time=", at))


def no_time(time: Any) -> str | None:
    """The reason why a value cannot be a time; None if it can."""
    try:
        hash(time)
    except TypeError:
        return f"{time!r} ({type(time).__name__}) is mutable, which a time must not be: convert it to a tuple or a str"
    return "NaN cannot be compared with other times" if has_nan(time) else None


def _timeless(file: File, name: str, value: Any, line: int | None) -> FileReadError:
    if not isinstance(value, dict):
        problem = f"it is not an object, but time= names a member, {name!r}"
    elif name in value:
        time: Any = value[name]  # pyright: ignore[reportUnknownVariableType]
        problem = f"{name!r}, which time= names, is null" if time is None else f"{name!r}: {no_time(time)}"
    else:
        has: list[str] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON's names are text
        problem = f"it has no member {name!r}, which time= names; it has {some_of(has, name, repr)}"
    return FileReadError(file.path, f"has a value without a time: {problem}; check time=", line)
