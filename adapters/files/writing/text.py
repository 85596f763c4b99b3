"""`write_text` and `write_bytes`."""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from typing_extensions import Unpack

import pullstream as ps
from pullstream.authoring import Call

from .composing import WriteOptions, writer
from .formats import Compression, LinesFormat, codec_argument


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
    return writer(
        "write_text", target, LinesFormat("write_text", codec, partial(_text, end)), own, rows=False, **options
    )


def _text(end: str, values: Sequence[str]) -> bytes:
    try:
        return (end.join(values) + end).encode()
    except (TypeError, UnicodeEncodeError) as exc:
        for value in values:
            if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance] - that is what went wrong
                exc.add_note(f"writing {value!r} ({type(value).__name__}): write_text takes str: add ps.map(str)")
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
    return writer("write_bytes", target, LinesFormat("write_bytes", codec, _bytes), own, rows=False, **options)


def _bytes(values: Sequence[bytes]) -> bytes:
    try:
        return b"".join(values)
    except TypeError as exc:
        for value in values:
            if not isinstance(value, (bytes, bytearray, memoryview)):  # pyright: ignore[reportUnnecessaryIsInstance]
                exc.add_note(f"writing {value!r} ({type(value).__name__}): write_bytes takes bytes: encode it first")
                break
        raise
