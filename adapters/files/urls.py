"""fsspec, and checks for the URLs that it supports."""

import re
from typing import Any

from pullstream import CompositionError, PullstreamError
from pullstream.authoring import Site, of_extra


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
        try:
            fsspec().get_filesystem_class(protocol)
        except FsspecMissing:
            raise
        except ImportError as exc:
            raise CompositionError(f"{module}({path!r}) at {Site.here()}: {exc}") from exc
        except ValueError as exc:
            raise CompositionError(
                f"{module}({path!r}) at {Site.here()}: fsspec has no file system for {protocol}://. "
                f"fsspec.available_protocols() lists those it has"
            ) from exc
