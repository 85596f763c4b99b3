"""`write_jsonl`, `write_text` and `write_bytes`: bytes, made from values one by one."""

import json
import os
from collections.abc import Sequence
from datetime import date, time
from functools import partial
from typing import Any, cast

from typing_extensions import Unpack

import pullstream as ps
from pullstream.authoring import Call

from ...arrow import SchemaError
from .committing import WriteOptions, writer
from .formats import Compression, LinesFormat, codec_argument


def write_jsonl(
    target: str | os.PathLike[str], *, compression: Compression = "infer", **options: Unpack[WriteOptions]
) -> ps.Sink[Any, list[Any]]:
    r"""Write each value as a line of JSON, one file per time; a file appears when its time is complete.

    >>> import tempfile, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sales = ps.values([{"till": "a", "n": 5}, {"till": "b", "n": 7}])
    ...     write = files.write_jsonl(f"{folder}/{{time}}/{{key}}.jsonl", key="till")
    ...     [(path.name, path.read_text()) for path in ps.run(ps.pipe(sales, write))]
    [('a.jsonl', '{"till": "a", "n": 5}\n'), ('b.jsonl', '{"till": "b", "n": 7}\n')]

    A dict becomes an object, and so do a named tuple and each row of an Arrow record batch. Dates and times become ISO
    text. NaN, which is not JSON, is refused. The rest applies to all writing sinks, which share `files.WriteOptions`:

    - `target` is a path or an fsspec URL that contains `{time}`, `{key}`, or both. A field may have a format,
      `{time:%Y-%m}`, or select a part, `{key[0]}`. `key` is a function of a value, or a column's name. Folders are
      created as needed. Two times cannot share a file: to write days by month, map the times first: `ps.map_time(lambda
      day: day.replace(day=1))`.
    - A field fills in one name of a folder or file, or a part of it; nothing is escaped. Text that cannot be part of a
      name is refused (`..`, separators, empty, too long or unencodable text), and so is the name of a hidden or an
      unfinished file, which readers of the folder would skip (see `read_text`). Only a `/` in the format itself makes
      folders: `{time:%Y/%m}`.
    - A target must not be a file that the same run reads, its journal, a manifest or another sink's target, under any
      path.
    - A file is written in a hidden folder `.pullstream-…` inside the target's folder, and synced. It is renamed into
      place when its time is complete, never earlier. After an error, an abort or a kill there are only whole files. The
      next run to the same target removes the unfinished ones and nothing else: other users cannot access the hidden
      folder, and no link is followed below the target's folder. The files of one time's keys appear one after another.
      A time without values has no file, and an older file of it stays. An existing file is replaced.
      `durable=False` skips the syncs: a power cut may then lose completed files.
    - Without `{time}` the file grows: complete times are appended, each when it is complete. A resumed run cuts the
      file back to the length in its journal, if the last bytes show that it is still the same file. A run that is not
      resumed replaces an older file when its first time with values is complete. If it succeeds without any values,
      an empty file replaces the older one. With a `{key}`, the older file of a key without values stays as it is.
    - The suffix sets the compression (`.gz`, `.zst`, `.bz2`, `.xz`), unless `compression` does. Other suffixes in which
      readers expect compressed data are refused.
    - The same values give the same file, byte for byte, no matter how they were batched.
    - No file stays open. At most 64 MiB of values wait in memory, plus one unit (1 MiB of text, a row group) for each
      of up to `open_files` unfinished files that are compressed, Parquet or Arrow. The values of any further such files
      wait on disk until their time is complete and are then encoded: this writes them twice, with the same result.
    - `manifest` is the path of a file with one line of JSON for each file that has appeared: time, key, path, rows,
      bytes, and for a growing file the offset. An older manifest is replaced; any other file there is refused.
    - A time that is done according to the journal is not written again. If one of its files was removed since, the
      resumed run logs this (not for URLs, and not if there is nothing left to do).
    - A second run of the same user to the same target is refused while the first one runs (for a URL, or a network disk
      that does not share locks between machines, only on the same machine).
    - For a URL, a file is made on the local disk (`TMPDIR`) and then uploaded: directly to an object store, elsewhere
      under another name and then moved, which is as atomic as the file system's `mv`. `storage_options` go to fsspec.
      If runs on two machines write to one URL, each file is whole, and the last of two with the same name stays.

    The result is the list of the files in the order in which they appeared: paths, or str for URLs.

    Raises:
        CompositionError: `target` and `key` do not match, or cannot name files.
        FileTargetError: a time or a key cannot be part of a file name, two of them would share a file, or something
            is in the way; as FileBusyError, another run or sink writes there.
        OSError: the file system refused (the disk is full, the folder not writable); no partial file is visible.
    """
    codec = codec_argument("write_jsonl", target, compression)
    return writer(target, LinesFormat("write_jsonl", codec, _lines), {"compression": compression}, **options)


def _lines(values: Sequence[Any]) -> bytes:
    encode = _ENCODER.encode
    lines: list[str] = []
    for value in values:
        rows = _plain(value)
        try:
            lines += map(encode, rows)
        except (TypeError, ValueError) as exc:
            exc.add_note(f"writing {value!r} as JSON; use ps.map to convert it to a type that JSON has")
            raise
    lines.append("")
    # UTF-8 cannot encode a lone surrogate; JSON can, as the escape that Python writes here.
    return "\n".join(lines).encode(errors="backslashreplace")


def _plain(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return (value,)  # pyright: ignore[reportUnknownVariableType] - of any content
    as_dict: Any = getattr(value, "_asdict", None)
    if as_dict is not None:
        return (as_dict(),)
    to_pylist: Any = getattr(value, "to_pylist", None)
    if to_pylist is None:
        return (value,)
    names: list[str] = getattr(value, "column_names", [])
    if len(set(names)) < len(names):
        raise SchemaError(f"write_jsonl: the columns {names} are not parts of one object: give each a name of its own")
    return to_pylist()


def _default(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, ps.Failed):
        failed = cast("ps.Failed[Any]", value)
        text: Any = failed.value.decode(errors="replace") if isinstance(failed.value, bytes) else failed.value
        return {"value": text, "error": f"{type(failed.error).__name__}: {failed.error}"}
    raise TypeError(f"{value!r} ({type(value).__name__}) cannot be written as JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_default)


def write_text(
    target: str | os.PathLike[str],
    *,
    end: str = "\n",
    compression: Compression = "infer",
    **options: Unpack[WriteOptions],
) -> ps.Sink[str, list[Any]]:
    r"""Write each value, a str, followed by `end`, in UTF-8; a file appears when its time is complete.

    >>> import tempfile, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     words = ps.values(["tea", "rice"], time=len)
    ...     paths = ps.run(ps.pipe(words, files.write_text(f"{folder}/{{time}}.txt")))
    ...     [(path.name, path.read_text()) for path in paths]
    [('3.txt', 'tea\n'), ('4.txt', 'rice\n')]

    Options (`WriteOptions`), results and errors are those of `write_jsonl`.
    """
    if not isinstance(end, str):  # pyright: ignore[reportUnnecessaryIsInstance] - not everyone checks types
        raise Call("write_text").refuse(f"got end={end!r}: it must be a str, added to each value")
    codec = codec_argument("write_text", target, compression)
    own = {"end": end, "compression": compression}
    format = LinesFormat("write_text", codec, partial(_text, end))
    return writer(target, format, own, rows=False, **options)


def _text(end: str, values: Sequence[str]) -> bytes:
    try:
        return (end.join(values) + end).encode()
    except (TypeError, UnicodeEncodeError) as exc:
        for value in values:
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - that is what went wrong
                kind = type(value).__name__
                how = "use write_bytes, or add ps.map(bytes.decode)" if kind == "bytes" else "add ps.map(str)"
                exc.add_note(f"writing {value!r} ({kind}): write_text takes str: {how}")
                break
            if any("\ud800" <= letter <= "\udfff" for letter in value):
                exc.add_note(f"writing {value!r}, which contains a lone surrogate: replace it with ps.map")
                break
        raise


def write_bytes(
    target: str | os.PathLike[str], *, compression: Compression = "infer", **options: Unpack[WriteOptions]
) -> ps.Sink[bytes, list[Any]]:
    """Write each value, a bytes object, without separators; a file appears when its time is complete.

    >>> import tempfile, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write = files.write_bytes(f"{folder}/{{time}}.bin")
    ...     [path.read_bytes() for path in ps.run(ps.pipe(ps.values([b"ab", b"c"]), write))]
    [b'abc']

    Options (`WriteOptions`), results and errors are those of `write_jsonl`.
    """
    codec = codec_argument("write_bytes", target, compression)
    own = {"compression": compression}
    return writer(target, LinesFormat("write_bytes", codec, _bytes), own, rows=False, **options)


def _bytes(values: Sequence[bytes]) -> bytes:
    try:
        return b"".join(values)
    except TypeError as exc:
        for value in values:
            if not isinstance(value, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
                exc.add_note(f"writing {value!r} ({type(value).__name__}): write_bytes takes bytes: encode it first")
                break
        raise
