"""File names: which ones mark a file as hidden or unfinished, and which ones the system rejects. URLs, and fsspec."""

import os
import re
from collections.abc import Collection, Iterable
from typing import Any, Final

from pullstream import PullstreamError
from pullstream.authoring import Call, nearest, of_extra

UNFINISHED: Final = (".part", ".tmp", ".temp", ".partial", ".crdownload", ".filepart", ".swp", "~")
"""Name endings of files that are still being written."""

CODECS: Final = {
    ".gz": "gzip", ".bgz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4", ".br": "brotli",
    ".xz": "xz", ".lzma": "lzma",
}  # fmt: skip
"""The codecs that readers infer from the suffix of a name."""

LONGEST: Final = 255
"""The maximum bytes of a file name on nearly every file system."""

_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?", re.IGNORECASE)


def is_hidden(name: str) -> bool:
    """Whether a name in a folder marks a hidden or unfinished file; `_day=1` is a partition, so it is data."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(UNFINISHED)


def passes_over(pattern: str, path: str) -> bool:
    """Whether a pattern excludes a matching file because its name, or a folder's, marks it as hidden or unfinished.

    A part of the pattern that is such a name itself, as in `_*/*.tmp`, includes these names.
    """
    named = [re.compile(fsspec().utils.glob_translate(part)) for part in pattern.split("/") if is_hidden(part)]
    return any(is_hidden(name) and not any(each.match(name) for each in named) for name in path.split("/"))


def not_a_name(text: str) -> str | None:
    """The reason why a text cannot be a file or folder name on this system, or part of one; None if it can."""
    if text in {"", ".", ".."}:
        return "it is empty, . or .., which cannot name a file"
    separators = {"/", "\0", os.sep, os.altsep or "/"}
    if any(separator in text for separator in separators):
        return "it contains a path separator or a null character"
    try:
        # A Python str may contain lone surrogates, which cannot be encoded.
        os.fsencode(text)
    except UnicodeEncodeError:
        return "it contains a lone surrogate, which cannot be encoded"
    if os.name == "nt" and (_DEVICE.fullmatch(text) or text[-1] in " ." or re.search(r'[<>:"|?*\x00-\x1f]', text)):
        return "Windows does not allow this name"
    return None


def too_long(name: str) -> bool:
    """Whether a name is too long for most file systems."""
    return len(os.fsencode(name)) > LONGEST


def known_options(module: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse, when composing, options that a module does not have."""
    if unknown := sorted(set(given) - set(known)):
        names = sorted(set(known))
        has = nearest(unknown[0], names) or f". It has {', '.join(f'{name}=' for name in names)}"
        raise Call(module).refuse(f"does not have the option {', '.join(f'{name}=' for name in unknown)}{has}")


def compression_argument(module: str, given: object, codecs: Collection[str]) -> None:
    """Refuse, when composing, an unknown `compression=`."""
    if given not in ("infer", None, *codecs):
        known = ", ".join(map(repr, dict.fromkeys(codecs)))
        raise Call(module).refuse(
            f"got compression={given!r}: it must be 'infer' (by the suffix), None, or one of {known}"
        )


class FsspecMissing(PullstreamError, ImportError):
    """fsspec is not installed."""


def fsspec() -> Any:
    """Import the package."""
    return of_extra("files", "fsspec", FsspecMissing)


def url_argument(module: str, path: str) -> None:
    """Refuse, when composing, a URL whose file system is unknown or needs a missing package; plain paths pass."""
    for part in path.split("::"):
        # In a chain, a bare word names a file system (`simplecache::s3://...`); every other part without :// is a path.
        word = "::" in path and (part in fsspec().available_protocols() or re.fullmatch("[a-z]+", part) is not None)
        protocol = part.partition("://")[0] if "://" in part else part if word else ""
        if not protocol:
            continue
        get = fsspec().get_filesystem_class
        try:
            get(protocol)
        except ImportError as exc:
            raise Call(module).refuse(f"got {path!r}: {exc}") from None
        except ValueError:
            raise Call(module).refuse(
                f"got {path!r}, but fsspec has no file system for {protocol}://. fsspec.available_protocols() lists "
                f"those it has"
            ) from None
