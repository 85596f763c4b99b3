"""Close a source's input that was never read."""

from typing import Any

from pullstream.engine.edge.kernel import Kernel
from pullstream.errors import ReleaseTimeout


async def close_unread(kernel: Kernel[Any], source: object) -> None:
    """Close a channel or iterator that was never read; otherwise its producer would wait forever."""
    aclose: Any = getattr(source, "aclose", None)
    if aclose is None:
        return
    with kernel.run.grace() as grace:
        await aclose()
    if grace.cancelled_caught:
        raise ReleaseTimeout(f"{kernel.location} did not close {source!r} within {kernel.run.release_timeout} s")
