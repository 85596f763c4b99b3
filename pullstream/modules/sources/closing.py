"""Closing what a source was given, when nobody ever asked for it."""

from typing import Any

from pullstream.engine.edge.kernel import Kernel
from pullstream.errors import ReleaseTimeout


async def close_unread(kernel: Kernel[Any], source: object) -> None:
    """Close a channel or iterator that was given and never read: whoever feeds it would wait for ever."""
    aclose: Any = getattr(source, "aclose", None)
    if aclose is None:
        return
    with kernel.run.grace() as grace:
        await aclose()
    if grace.cancelled_caught:
        raise ReleaseTimeout(f"{kernel.location} did not close {source!r} within {kernel.run.release_timeout} s")
