"""The options that all file readers share, and the sources built from them."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypedDict, get_type_hints

from pullstream import Source
from pullstream.authoring import Call, Count, Emits, Module, OneOf, Sync, seconds, with_policy

from ...arrow import As, schema_argument, shape_argument
from ..names import CODECS, compression_argument, known_options
from .blocks import BLOCK
from .formats import ReadFormat
from .listing import Paths, checked_paths
from .order import ReadPlan
from .source import FilesSource
from .times import PathTime


class Options(TypedDict, total=False):
    """The options that all file readers share.

    - `time`: the time of every value. A function of the value, a column's name, or a time from the file's path
      (`name_time`, `path_time`), which orders the files by their times. Times must not decrease. `on_error` applies
      to a value without a time; if `time` is a column, its `Failed` has the row as a dict. Without `time`, every value
      is at 0 or, with `follow` or `available`, every file has its own time: 0, 1, 2, ...
    - `compression`: `"infer"` (the default: from the name, `.gz .bz2 .zst .lz4 .br .xz`), `"gzip"`, ..., or None.
    - `block_size`: the number of bytes that are read and decoded at a time, by default 4 MiB. Memory holds about one
      block and the values made from it, or five where lines become tables, because blocks are parsed in parallel.
    - `follow`: after all files are read, look for new ones every `every` seconds (of trio's clock; by default 1). This
      continues until a `take` downstream has enough, or another task calls `running.finish()`, which stops reading and
      completes all times so far, or aborts the run. A missing path, even a folder, is waited for; the status and the
      log report it. A file is read once two looks in a row find it unchanged. Files whose names mark them as unfinished
      are skipped (see `read_text`). New files are read in the order of their names. A file that changes after it was
      found complete is an error. With times from paths, a day is complete when a file of a later day arrives, or at
      `finish()`; a file of an earlier day is then an error. If late files can arrive and the values contain their
      times, leave out `time=` and set times downstream: `ps.map_time(lambda _: 0), ps.stamp(f, lateness=...)`.
    - `available`: in a run with a journal, read the files that arrived since the last run with it, then end. Use it for
      a job that is started every night (like Spark's `availableNow`). Everything else is as with `follow`: a file that
      is still being written is left to the next run, and files may be removed once they were read. With times from
      paths, columns or functions, the last time is completed with the files so far, and the next run redoes it as a
      whole, so keep the files of that time until then. If a program has several such sources, each reads again from the
      time that the slowest has reached.
    - `filesystem`: an fsspec file system that contains `paths`; `storage_options`: what fsspec needs for URLs.

    A run with a journal is refused if a file that an earlier run read has changed. If nothing from that file is
    completed, the file is read again instead, so you can fix a file that made a run fail. If a part of it is completed
    (a file may have several times), there is no safe place to continue. A file is identified by its size, its
    modification time and, on this machine, a digest of its first and last 64 KiB. A change in the middle of a larger
    file that keeps its size and time goes undetected.
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
    """The options that all table readers share: see `read_csv`."""

    as_: As
    columns: Sequence[str] | None
    schema: "Mapping[str, Any] | Any"


_YES_OR_NO = OneOf(*(False, True))
_KNOWN = frozenset(get_type_hints(Options))


def files_source(
    name: str,
    paths: Paths,
    format: "Callable[[str | None, int], ReadFormat]",
    options: Options,
    *,
    as_: str = "rows",
    on_error: Any = "fail",
    extra: Mapping[str, Any] | None = None,
) -> Source[Any]:
    """Make a source that reads files of a format; invalid options are refused."""
    known_options(name, options, {"on_error", *_KNOWN, *(extra or {})})
    rest: Any = dict(options)
    compression, block = rest.pop("compression", "infer"), rest.pop("block_size", BLOCK)
    time, follow, available = rest.get("time"), rest.get("follow", False), rest.get("available", False)
    if follow and available:
        raise Call(name).refuse(
            "got follow=True, which waits for new files, and available=True, which ends "
            "after the files that exist now: give only one of them"
        )
    if not (time is None or isinstance(time, (str, PathTime))):
        Sync("a value's time is known at once, from the value")(Call(name, name="time"), time)
    Count(1)(Call(name, name="block_size"), block)
    seconds(Call(name, name="every"), options.get("every", 1.0))
    if "every" in options and not (follow or available):
        raise Call(name).refuse(f"got every={options['every']!r}, which needs follow=True or available=True")
    _YES_OR_NO(Call(name, name="follow"), follow)
    _YES_OR_NO(Call(name, name="available"), available)
    compression_argument(name, compression, CODECS.values())
    rest["follow"] = follow or available
    plan = ReadPlan(checked_paths(name, paths, rest.get("filesystem")), format(compression, block), as_, **rest)
    shown = list(plan.paths)
    # The blueprint shows the given options, and they distinguish one pipeline from another.
    given = {**(extra or {}), **options}
    named = tuple((key, value) for key, value in given.items() if value is not None)
    return Source(with_policy(Module(name, _Opened(plan), (shown if len(shown) > 1 else shown[0],), named), on_error))


def tabular_source(
    name: str,
    paths: Paths,
    format: Callable[..., ReadFormat],
    options: Tabular,
    on_error: Any,
    *,
    usual: As = "rows",
    extra: Mapping[str, Any] | None = None,
) -> Source[Any]:
    """Make a source that reads tables of a format; `format` gets the requested columns and schema."""
    rest: Any = dict(options)
    as_, columns, schema = rest.pop("as_", usual), rest.pop("columns", None), rest.pop("schema", None)
    shape_argument(name, as_)
    wanted = columns_argument(name, columns, rest.get("time"))
    typed = schema_argument(name, schema)
    named = {"as_": None if as_ == usual else as_, "columns": wanted, "schema": typed, **(extra or {})}
    chosen = partial(format, columns=wanted, schema=typed)
    return files_source(name, paths, chosen, rest, as_=as_, on_error=on_error, extra=named)


class _Opened:
    """Makes the kernel of a plan; its repr shows only the paths."""

    emits = staticmethod(Emits.if_following)

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan

    def __call__(self, _shown: object, *, on_error: object = "fail", **_named: object) -> FilesSource:
        return FilesSource(self._plan, on_error=on_error)


def encoding_argument(module: str, encoding: Any) -> None:
    """Refuse, when composing, an encoding that Python does not support."""
    try:
        "x".encode(encoding)
    except (LookupError, TypeError, ValueError):
        raise Call(module).refuse(f"got encoding={encoding!r}, which Python does not support for text") from None


def columns_argument(module: str, columns: Any, time: Any) -> tuple[str, ...] | None:
    """The requested columns; anything but a list of distinct names, or one without the time column, is refused."""
    if columns is None:
        return None
    names = () if isinstance(columns, str) else tuple(columns)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise Call(module).refuse(f"needs columns= to be a list of distinct column names, but got {columns!r}")
    if isinstance(time, str) and time not in names:
        raise Call(module).refuse(f"got time={time!r}, which is not among the columns {names}")
    return names
