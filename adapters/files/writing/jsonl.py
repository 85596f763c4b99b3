"""JSON Lines."""

import json
import os
from collections.abc import Hashable, Iterable
from datetime import date, time
from pathlib import Path
from typing import Any

import trio

import pullstream as ps
from adapters.files.writing.whole import Target, WholeFile


def write_jsonl(target: str | os.PathLike[str]) -> ps.Sink[Any, list[Path]]:
    """Write each value as a line of JSON, a file per time; a time's file appears when the time is complete.

    `target` is a path with `{time}` in it; folders are made. A file is written beside its place (as
    `.NAME.part`) and renamed into it, after it has reached the disk, when nothing at its time can come any more, and
    not before: after an error, an abort or a kill there are whole files only. The result is the list of the files,
    in the order in which they appeared. A time without values has no file.

    A dict becomes an object, and so does a value that is a named tuple; dates and times become ISO text; NaN, which is
    not JSON, is refused. There is one open file for every time that is not complete.

    Raises:
        CompositionError: `target` has no `{time}`.
        FileTargetError: a time cannot be part of a file's name, or two times would share a file.
        OSError: the file system refused; nothing half-written stays.
    """
    Target(target, "write_jsonl")
    return _write_jsonl(os.fspath(target)).named("write_jsonl")


@ps.sink
async def _write_jsonl(upstream: ps.Reader[Any], ctx: ps.Context, template: str) -> list[Path]:
    target = Target(template, "write_jsonl")
    published: list[Path] = []
    under_way: dict[Hashable, WholeFile] = {}
    try:
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, values):
                    if time not in under_way:
                        ctx.notify_at(time)
                        under_way[time] = WholeFile(target.path(time))
                    under_way[time].write(_lines(values))
                case ps.Completed(time):
                    await trio.to_thread.run_sync(under_way[time].publish)
                    published.append(under_way.pop(time).path)
    finally:
        for file in under_way.values():
            file.discard()
    return published


def _lines(values: Iterable[Any]) -> bytes:
    return "".join(f"{_line(value)}\n" for value in values).encode()


def _line(value: Any) -> str:
    try:
        return _ENCODER.encode(_plain(value))
    except (TypeError, ValueError) as exc:
        exc.add_note(f"writing {value!r} as JSON; ps.map it to something that has a form there")
        raise


def _plain(value: Any) -> Any:
    as_dict: Any = getattr(value, "_asdict", None)
    return value if as_dict is None else as_dict()


def _default(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    raise TypeError(f"{value!r} ({type(value).__name__}) has no form in JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_default)
