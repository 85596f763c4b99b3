"""The times of what is read: from a file's path, from a column, or from a function of the value."""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

import attrs

from pullstream import Batch, CompositionError, TimedBatch
from pullstream.authoring import Ascending, Call, Site, Sync, ascending, stamped

from ...arrow import Shape, pyarrow
from .errors import FileReadError, NoColumnError
from .formats import Bad, Table, Values, listed
from .listing import File


@attrs.frozen
class PathTime:
    """Gives all that is in a file one time, which its path says; `name_time` and `path_time` make one."""

    function: Callable[[str], Hashable]

    def of(self, path: str) -> Hashable:
        """The time of a file.

        Raises:
            FileReadError: it has none.
        """
        time = self.function(path)
        if time is None:
            raise FileReadError(path, "has no time: what was given to path_time returned None")
        if why := no_time(time):
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
                path, f"has no time: nothing in it matches {self.pattern.pattern!r}, which was given to name_time"
            )
        text = matches[-1].group(1 if self.pattern.groups else 0)
        try:
            return self.convert(text)
        except Exception as exc:
            exc.add_note(f"making a time of {text!r}, in the name of {path}")
            raise


def name_time(pattern: str, convert: Callable[[str], Hashable] = str) -> PathTime:
    r"""Take the time of what is read from the names of files, as `time=` of what reads them.

    `pattern` is a regular expression; where it matches last in a path (so a file's name goes before its folders'),
    `convert` makes a time of the match or, if the pattern has one, of its first group.

    >>> from datetime import date
    >>> from pullstream import files
    >>> files.name_time(r"\d{4}-\d\d-\d\d", date.fromisoformat).function("in/2026-03-01/log-2026-03-02.csv.gz")
    datetime.date(2026, 3, 2)

    Files are read in the order of their times; then in that of their paths. A time is complete when the next one's
    first file comes: with `follow` (see `Options`) the last one's only when the run is told to `finish()`, and a file
    that comes after one of a later time is an error. `path_time` takes any function of a path.
    """
    Sync("a name's time is known at once")(Call("name_time", name="convert"), convert)
    try:
        compiled = re.compile(pattern)
    except (re.error, TypeError) as exc:
        raise CompositionError(f"name_time() at {Site.here()} needs a regular expression: {pattern!r}: {exc}") from None
    return PathTime(_Named(compiled, convert))


def path_time(function: Callable[[str], Hashable]) -> PathTime:
    """Take the time of what is read from a function of the file's path (text), as `time=` of what reads it.

    >>> from pullstream import files
    >>> files.path_time(lambda path: int(path.rpartition("=")[2].partition("/")[0])).function("t/day=7/part-0.parquet")
    7
    """
    Sync("a path's time is known at once")(Call("path_time", name="function"), function)
    return PathTime(function)


class Timing:
    """Gives what is read its times, all at once where they are in order; cuts it where they go back."""

    def __init__(self, time: str | Callable[[Any], Hashable] | None, shape: Shape) -> None:
        self._column = time if isinstance(time, str) else None
        self._function = itemgetter(time) if isinstance(time, str) else time
        self._shape = shape

    def timed(self, file: File, piece: Values | Table, whole: Hashable) -> Iterator[Batch[Any] | Bad]:
        """The values of a piece, with their times; `whole` is that of all the file has, where it is one."""
        if isinstance(piece, Table) and self._function is not None and self._column is not None:
            yield from self._by_column(file, piece, self._column)
            return
        values = self._shape.of(piece.batch) if isinstance(piece, Table) else piece.values
        if self._function is None:
            if values:
                yield Batch(whole, values)
            return
        yield from self._by_function(file, values, piece.line, self._function)

    def _by_column(self, file: File, piece: Table, name: str) -> Iterator[Batch[Any] | Bad]:
        batch = piece.batch
        if name not in batch.schema.names:
            has = listed(batch.schema.names)
            raise NoColumnError(file.path, f"has no column {name!r}, which time= names; it has {has}")
        begin = 0
        column = batch.column(name)
        pa = pyarrow()
        if pa.types.is_nested(column.type):
            raise NoColumnError(
                file.path, f"has no times in the column {name!r}, which is {column.type}; look at time="
            )
        if column.null_count or pa.types.is_floating(column.type):
            for row in pa.compute.indices_nonzero(column.is_null(nan_is_null=True)).to_pylist():
                part = batch.slice(begin, row - begin)
                yield from self._shape.timed(part, part.column(name))
                begin = row + 1
                line = None if piece.line is None else piece.line + row
                value = batch.slice(row, 1).to_pylist()[0]
                yield Bad(value, _timeless(file, name, value, line))
        rest = batch.slice(begin)
        yield from self._shape.timed(rest, rest.column(name))

    def _by_function(
        self, file: File, values: list[Any], line: int | None, function: Callable[[Any], Hashable]
    ) -> Iterator[Batch[Any] | Bad]:
        try:
            times = list(map(function, values))
            same = times.count(times[0]) == len(times)
            bad = None in times or any(map(no_time, times[:1] if same else _different(times)))
        except Exception:  # noqa: BLE001 - found again, with its line
            yield from self._one_by_one(file, values, line, function)
            return
        if bad:
            yield from self._one_by_one(file, values, line, function)
        elif same:
            yield Batch(times[0], values)
        elif _in_order(times):
            yield TimedBatch(Ascending(times), values)
        else:
            # Whoever compares them one by one finds the place.
            yield from TimedBatch(times, values).runs()

    def _one_by_one(
        self, file: File, values: list[Any], line: int | None, function: Callable[[Any], Hashable]
    ) -> Iterator[Batch[Any] | Bad]:
        for number, value in enumerate(values):
            at = None if line is None else line + number
            try:
                time = stamped(value, function)
                why = no_time(time)
            except Exception as exc:  # noqa: BLE001 - the value has no time, and the policy says what becomes of it
                name = self._column
                if name is not None:
                    yield Bad(value, _timeless(file, name, value, at))
                else:
                    exc.add_note(f"giving a time to what is in {file.path}{'' if at is None else f':{at}'}")
                    yield Bad(value, exc)
            else:
                if why is None:
                    yield Batch(time, [value])
                else:
                    yield Bad(value, FileReadError(file.path, f"has a value without a time: {why}; look at time=", at))


def no_time(time: Any) -> str | None:
    """The reason why a value is no time; None if it is one."""
    try:
        hash(time)
    except TypeError:
        return f"{time!r} ({type(time).__name__}) can be changed, and a time cannot: make a tuple or a text of it"
    return "NaN is neither before nor after anything" if _has_nan(time) else None


def _has_nan(time: Any) -> bool:
    if isinstance(time, tuple):
        return any(map(_has_nan, time))  # pyright: ignore[reportUnknownArgumentType]
    return isinstance(time, (float, Decimal)) and time != time  # noqa: PLR0124 - only NaN is not equal to itself


def _in_order(times: Sequence[Any]) -> bool:
    try:
        return ascending(times)
    except Exception:  # noqa: BLE001 - what cannot be compared is in no order
        return False


def _different(times: Sequence[Any]) -> Iterator[Any]:
    """Times, without those that are the same as the one before."""
    last: Any = _different
    for time in times:
        if time is not last:
            last = time
            yield time


def _timeless(file: File, name: str, value: Any, line: int | None) -> FileReadError:
    if not isinstance(value, dict):
        problem = f"it is no object, and time= names a member, {name!r}"
    elif name in value:
        time: Any = value[name]  # pyright: ignore[reportUnknownVariableType]
        problem = f"{name!r}, which time= names, is null" if time is None else f"{name!r}: {no_time(time)}"
    else:
        has: list[str] = list(value)  # pyright: ignore[reportUnknownArgumentType] - JSON's names are text
        problem = f"it has no member {name!r}, which time= names; it has {listed(has)}"
    return FileReadError(file.path, f"has a value without a time: {problem}; look at time=", line)


def time_argument(module: str, time: Any) -> None:
    """Refuse, when composing, a `time=` that is no way to give times."""
    if time is None or isinstance(time, (str, PathTime)):
        return
    Sync("a value's time is known at once, from the value")(Call(module, name="time"), time)
