"""JSON Lines."""

import json
import os
from collections.abc import Sequence
from datetime import date, time
from typing import Any, cast

from typing_extensions import Unpack

import pullstream as ps

from .composing import WriteOptions, writer
from .encoding import Compression, codec_argument
from .formats import LinesFormat


def write_jsonl(
    target: str | os.PathLike[str], *, compression: Compression = "infer", **options: Unpack[WriteOptions]
) -> ps.Sink[Any, list[Any]]:
    r"""Write each value as a line of JSON, a file per time; a time's file appears when the time is complete.

    >>> import tempfile, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sales = ps.values([{"till": "a", "n": 5}, {"till": "b", "n": 7}])
    ...     write = files.write_jsonl(f"{folder}/{{time}}/{{key}}.jsonl", key="till")
    ...     [(path.name, path.read_text()) for path in ps.run(ps.pipe(sales, write))]
    [('a.jsonl', '{"till": "a", "n": 5}\n'), ('b.jsonl', '{"till": "b", "n": 7}\n')]

    A dict becomes an object, and so do a named tuple and each row of an Arrow record batch; dates and times become ISO
    text; NaN, which is not JSON, is refused. What holds for all the writing sinks (`files.WriteOptions` are
    the options that they share, with their defaults):

    - `target` is a path, or an fsspec URL, with `{time}` in it, or `{key}`, or both; a format may follow,
      `{time:%Y-%m}`, or a part be meant, `{key[0]}`. `key` is a function of a value, or a column's name. Folders are
      made. No two times share a file: months of days are made before, `ps.restamp(lambda day: day.replace(day=1))`.
    - What a field gives is one name, of a folder or of the file, or a part of one; nothing is escaped. What cannot be
      one (`..`, separators, what is empty, too long or no text) is refused, and so is what readers of the folder would
      leave out: a name that begins with `.` or `_`, or ends as `.part`. Only a `/` in the format itself makes folders,
      `{time:%Y/%m}`.
    - No target may be among the files that the same run reads, nor be its journal, a manifest or another sink's, by
      whatever path.
    - A file is made beside its place, in a hidden folder `.pullstream-…` in the target's, and renamed into its place,
      after it has reached the disk, when nothing at its time can come any more, and not before: after an error, an
      abort or a kill there are whole files only, and the next run to the same target removes what was under way, and
      nothing else: the hidden folder is closed to others, and no link is followed below the target's folder. The
      files of one time's keys appear one after another. A time without values has no file. A file that is there
      already is replaced. With `durable=False` nothing is synced: then a power cut may take what was complete.
    - Without `{time}` the file grows: complete times are appended, each when it is complete. A run with a journal that
      is resumed cuts the file back to what its journal knows to be complete, if it is still that file by its last
      bytes; any other begins it anew.
    - The suffix says the compression (`.gz`, `.zst`, `.bz2`, `.xz`), if `compression` does not.
    - The same values give the same file, byte for byte, however they were batched.
    - No file is kept open; at most 64 MiB of values wait in memory, beside a unit (1 MiB of text, a row group) each of
      `open_files` files that are compressed, Parquet or Arrow. If more than so many are under way, the others wait on
      the disk and are encoded when their time is complete: written twice, but as well.
    - `manifest` is the path of a file with a line of JSON for each file that has appeared: time, key, path, rows,
      bytes, and for a file that grows the offset.
      An older one is replaced; what is no manifest is refused.
    - A time that a journal knows to be done is not done again: a file of it that was taken away since stays away, which
      the log says when the run is resumed (not of a URL's, and not where there is nothing left to do).
    - A second run of the same user to the same target is refused, as long as the first lives (on a URL: on the same
      machine).
    - A URL's file is made on the local disk (`TMPDIR`) and then put: on an object store at once, elsewhere beside its
      place and moved, which is as atomic as the file system's `mv`. `storage_options` go to fsspec.

    The result is the list of the files, in the order in which they appeared: of paths, for a URL of text.

    Raises:
        CompositionError: `target` and `key` do not fit each other, or cannot name files.
        FileTargetError: a time or a key cannot be part of a file's name, two of them would share a file, or something
            is in the way; as FileBusyError, somebody else writes there.
        OSError: the file system refused (the disk is full, the folder not writable); nothing half-written is visible.
    """
    codec = codec_argument("write_jsonl", target, compression)
    own = {"compression": compression}
    return writer("write_jsonl", target, LinesFormat("write_jsonl", codec, _lines), own, rows=True, **options)


def _lines(values: Sequence[Any]) -> bytes:
    encode = _ENCODER.encode
    lines: list[str] = []
    for value in values:
        rows = _plain(value)
        try:
            lines += map(encode, rows)
        except (TypeError, ValueError) as exc:
            exc.add_note(f"writing {value!r} as JSON; ps.map it to something that has a form there")
            raise
    lines.append("")
    return "\n".join(lines).encode()


def _plain(value: Any) -> Sequence[Any]:
    if isinstance(value, dict):
        return (value,)  # pyright: ignore[reportUnknownVariableType] - whatever is in it
    as_dict: Any = getattr(value, "_asdict", None)
    if as_dict is not None:
        return (as_dict(),)
    to_pylist: Any = getattr(value, "to_pylist", None)
    return (value,) if to_pylist is None else to_pylist()


def _default(value: Any) -> Any:
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, ps.Failed):
        failed = cast("ps.Failed[Any]", value)
        text: Any = failed.value.decode(errors="replace") if isinstance(failed.value, bytes) else failed.value
        return {"value": text, "error": f"{type(failed.error).__name__}: {failed.error}"}
    raise TypeError(f"{value!r} ({type(value).__name__}) has no form in JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_default)
