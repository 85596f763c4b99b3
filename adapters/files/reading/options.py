"""The options of everything that reads files, and the source that is made of them."""

import codecs
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, get_type_hints

from pullstream import CompositionError, Source
from pullstream.authoring import Call, Count, Module, Site, nearest, seconds, with_policy

from ...arrow import As, schema_argument, shape_argument
from .blocks import BLOCK
from .formats import ReadFormat
from .listing import Paths, checked_paths
from .reader import ReadPlan
from .source import FilesSource
from .streams import CODECS
from .times import PathTime, time_argument


class Options(TypedDict, total=False):
    """The options of everything that reads files.

    - `time`: the time of every value, from a function of it; from a column's name; or, the same for a whole file, from
      its path (`name_time`, `path_time`): then files are read in the order of their times. Times must not go back.
      Without it all is at 0, or, with `follow`, every file at a time of its own: 0, 1, 2, ...
    - `compression`: "infer" (the default: by the name, `.gz .bz2 .zst .lz4 .br .xz`), "gzip", ..., or None.
    - `block_size`: how many bytes are read and decoded at a time, 4 MiB unless said otherwise; in memory there is about
      one such block, and what is made of it, or five where lines become tables, which are parsed side by side.
    - `follow`: when all has been read, look for new files every `every` seconds (of trio's clock; by default 1), until
      a `take` has enough, or somebody beside calls `running.finish()`, which reads no further and completes what has
      come, or aborts. What is not there, yet or any more, a folder too, is waited for, which the status and the log
      say. A file is read when two looks in a row find it the same; a name that begins with `.` or `_`, or ends as
      `.part` or `.tmp`, is no file yet. New files come in the order of their names. A file that changes when it has
      been found whole is an error. With times of paths, a day is complete when a file of a later day has come, or at
      `finish()`, and a file of an earlier day is an error; where such come, and values say their times, leave out
      `time=`, and give them below: `ps.restamp(lambda _: 0), ps.stamp(f, lateness=...)`.
    - `available`: in a run with a journal, take the files that have come since the last run with it, then end, as a
      job does that is started every night (Spark's `availableNow`); the next run goes on from there. The rest is as
      with `follow`: a file that is still being written when the run begins is one for the next run, and files may be
      taken away when they have been read. With times of paths, of columns or of functions the last time is completed
      with what has come, and done again, whole, by the next run; so keep the files of that time until then.
    - `filesystem`: fsspec's, for `paths` within it; `storage_options`: what fsspec needs for URLs.

    A run with a journal is refused where a file has changed that an earlier one has read; where nothing that is in it
    is done, it is read anew instead, so that one that made a run fail can be mended. Where some of it is, as of a file
    with several times, nobody knows where in the new one to go on.
    A file is known by its size, the time it was written and, on this machine, a digest of its first and last 64 KiB:
    what is changed in the middle of a larger one, with its size and time kept, nobody notices.
    """

    time: "str | PathTime | Callable[[Any], Hashable] | None"
    compression: str | None
    block_size: int
    follow: bool
    every: float
    available: bool
    filesystem: Any
    storage_options: Mapping[str, Any]


class Tabular(Options, total=False):
    """The options of everything that reads tables: see `read_csv`."""

    as_: As
    columns: Sequence[str] | None
    schema: "Mapping[str, Any] | Any"


_KNOWN = frozenset(get_type_hints(Options))


def files_source(
    name: str,
    paths: Paths,
    format: "Callable[[str | None, int], ReadFormat]",
    options: Options,
    *,
    as_: str = "rows",
    on_error: Any = "fail",
    told: Mapping[str, Any] | None = None,
) -> Source[Any]:
    """A source of what a format reads; refuses options that mean nothing."""
    unknown = sorted(set(options) - _KNOWN)
    if unknown:
        raise CompositionError(
            f"{name}() at {Site.here()} got {', '.join(f'{key}=' for key in unknown)}, which it does not know"
            f"{nearest(unknown[0], _KNOWN)}"
        )
    time, block = options.get("time"), options.get("block_size", BLOCK)
    follow, every = options.get("follow", False), options.get("every", 1.0)
    available = options.get("available", False)
    if follow and available:
        raise CompositionError(
            f"{name}() at {Site.here()} got follow=True, which waits for new files, and available=True, which ends "
            f"when it has read those that are there: say one of them"
        )
    compression = options.get("compression", "infer")
    time_argument(name, time)
    Count(1)(Call(name, name="block_size"), block)
    seconds(Call(name, name="every"), every)
    if compression not in {"infer", None, *CODECS.values()}:
        known = ", ".join(map(repr, dict.fromkeys(CODECS.values())))
        raise CompositionError(
            f"{name}() at {Site.here()} got compression={compression!r}: it is 'infer', None, or one of {known}"
        )
    filesystem = options.get("filesystem")
    plan = ReadPlan(
        checked_paths(name, paths, filesystem),
        format(compression, block),
        as_,
        time,
        filesystem,
        dict(options.get("storage_options", {})),
        follow or available,
        every,
        available,
    )
    shown = list(plan.paths)
    # What was said is shown, and tells one pipeline from another.
    given = {**(told or {}), **options}
    said = tuple((key, value) for key, value in given.items() if value is not None)
    return Source(with_policy(Module(name, _Opened(plan), (shown if len(shown) > 1 else shown[0],), said), on_error))


def tabular_source(
    name: str,
    paths: Paths,
    format: Callable[[tuple[str, ...] | None, Any, str | None, int], ReadFormat],
    options: Options,
    *,
    as_: Any,
    columns: Any,
    schema: Any,
    on_error: Any,
    usual: As = "rows",
    told: Mapping[str, Any] | None = None,
) -> Source[Any]:
    """A source of what a format reads of tables; `format` is given the columns and the schema that are wanted."""
    shape_argument(name, as_)
    wanted = columns_argument(name, columns, options.get("time"))
    typed = schema_argument(name, schema)
    said = {"as_": None if as_ == usual else as_, "columns": wanted, "schema": typed, **(told or {})}
    return files_source(name, paths, partial(format, wanted, typed), options, as_=as_, on_error=on_error, told=said)


class _Opened:
    """Makes the kernel of a plan; the blueprint shows the paths alone."""

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan

    def __call__(self, _shown: object, *, on_error: object = "fail", **_said: object) -> FilesSource:
        return FilesSource(self._plan, on_error=on_error)


def encoding_argument(module: str, encoding: Any) -> None:
    """Refuse, when composing, an encoding that Python does not know."""
    try:
        codecs.lookup(encoding)
    except (LookupError, TypeError):
        raise CompositionError(
            f"{module}() at {Site.here()} got encoding={encoding!r}, which Python does not know"
        ) from None


def columns_argument(module: str, columns: Any, time: Any) -> tuple[str, ...] | None:
    """The columns that are wanted; refuses what is no list of names, or lacks the time."""
    if columns is None:
        return None
    names = () if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise CompositionError(
            f"{module}() at {Site.here()} needs a list of columns' names, each once, and got columns={columns!r}"
        )
    if isinstance(time, str) and time not in names:
        raise CompositionError(f"{module}() at {Site.here()} got time={time!r}, which is not among the columns {names}")
    return names
