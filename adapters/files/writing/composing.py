"""Composition of writing sinks: checks of their arguments."""

import os
from collections.abc import Mapping
from typing import Any, TypedDict

from typing_extensions import Unpack

from pullstream import CompositionError, Sink
from pullstream.authoring import Call, Count, Module, Site, nearest

from ...sinks import SinkBody
from ..urls import url_argument
from .committing import FilesCommitter
from .formats import WriteFormat
from .keys import Key, key_argument
from .sink import WritePlan
from .target import Target, is_url


class WriteOptions(TypedDict, total=False):
    """The options that all writing sinks share; `write_jsonl` explains them.

    - `key`: a function of a value, or a column's name, for the `{key}` in the target; by default None.
    - `manifest`: the path of a file that lists the files that have appeared; by default None.
    - `open_files`: the maximum number of unfinished files that are compressed, Parquet or Arrow; by default 64.
    - `durable`: whether a file is synced to disk before it appears; by default True.
    - `storage_options`: what fsspec needs for URLs; by default None.
    """

    key: Key
    manifest: str | os.PathLike[str] | None
    open_files: int
    durable: bool
    storage_options: Mapping[str, Any] | None


_KNOWN = frozenset(WriteOptions.__annotations__)


def writer(
    module: str,
    target: object,
    format: WriteFormat,
    own: Mapping[str, object],
    *,
    rows: bool,
    **options: Unpack[WriteOptions],
) -> Sink[Any, list[Any]]:
    """Make a writing sink; `own` are the module's own options, for display, and `rows` says if values have columns."""
    if unknown := set(options) - _KNOWN:
        raise Call(module).refuse(
            f"does not take {min(unknown)}=; it takes "
            f"{', '.join(sorted(_KNOWN | set(own)))}"
            f"{nearest(min(unknown), _KNOWN | set(own))}"
        )
    place = Target.of(module, target)
    if place.is_url:
        url_argument(module, place.template)
    key_argument(module, options.get("key"), wanted="key" in place.fields, rows=rows)
    Count(1)(Call(module, name="open_files"), options.get("open_files", 64))
    if place.grows and not format.grows:
        raise CompositionError(
            f"{module}({place.template!r}) at {Site.here()}: files of this kind cannot grow; add {{time}} to the "
            f"target. Without times, all values are in the file of the time 0",
        )
    if place.grows and place.is_url:
        raise CompositionError(
            f"{module}({place.template!r}) at {Site.here()}: a file at a URL cannot grow; add {{time}} to the target, "
            f"or write to a local path",
        )
    given: Any = {**options, "manifest": _manifest(module, options.get("manifest"))}
    plan = WritePlan(place, format, f"{module}() at {Site.here()}", **given)
    options_set = [(name, value) for name, value in {**own, **options}.items() if value is not None]
    shown = {"compression": "infer", "end": "\n", "delimiter": ",", "header": True, "open_files": 64, "durable": True}
    options_shown = tuple((name, value) for name, value in options_set if shown.get(name) != value)
    return Sink((Module(module, SinkBody(FilesCommitter, plan), (os.fspath(place.template),), options_shown),))


def _manifest(module: str, path: Any) -> str | None:
    if path is None:
        return None
    if not (isinstance(path, str) or hasattr(path, "__fspath__")) or not str(path) or is_url(str(path)):
        raise Call(module).refuse(f"got manifest={path!r}: give the path of a local file")
    return str(path)
