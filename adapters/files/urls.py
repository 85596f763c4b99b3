"""fsspec, and the URLs that it knows."""

import re
from typing import Any

from pullstream import CompositionError, PullstreamError
from pullstream.authoring import Site, of_extra


class FsspecMissing(PullstreamError, ImportError):
    """fsspec is not installed."""


def fsspec() -> Any:
    """The package.

    Raises:
        FsspecMissing: it is not there.
    """
    return of_extra("files", "fsspec", FsspecMissing)


def url_argument(module: str, path: str) -> None:
    """Refuse, when composing, a URL whose file system is unknown, or lacks a package; paths are no URLs."""
    for part in path.split("::"):
        # In a chain a word alone is a file system, as in `simplecache::s3://...`, and all else is a path.
        word = "::" in path and (part in fsspec().available_protocols() or re.fullmatch("[a-z]+", part) is not None)
        protocol = part.partition("://")[0] if "://" in part else part if word else ""
        if not protocol:
            continue
        try:
            fsspec().get_filesystem_class(protocol)
        except FsspecMissing:
            raise
        except ImportError as exc:
            raise CompositionError(f"{module}({path!r}) at {Site.here()}: {exc}") from exc
        except ValueError as exc:
            raise CompositionError(
                f"{module}({path!r}) at {Site.here()}: fsspec knows no {protocol}://; its file systems are listed by "
                f"fsspec.available_protocols()"
            ) from exc
