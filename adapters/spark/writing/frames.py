"""Messages over TCP between the driver and Spark's processes, which fetch a source: frames and a token.

A frame has a kind (one byte), a length (eight bytes, most significant first) and that many bytes of content. The first
frame of a connection is a hello: JSON with the token. A connection without the right token is logged and closed without
an answer.
"""

import hmac
import json
import logging
import struct
from contextlib import suppress
from typing import Any

import trio

HEAD = struct.Struct("!cQ")
HELLO = b"H"
LONGEST_HELLO = 1 << 16
HELLO_SECONDS = 30

_log = logging.getLogger("pullstream.spark")


class WrongHello(Exception):
    """A connection that did not send a valid hello."""


# RecursionError: JSON may be nested deeper than Python's parser supports.
_NO_HELLO = (WrongHello, ValueError, AttributeError, RecursionError, trio.TooSlowError, trio.BrokenResourceError)


async def receive_exactly(stream: trio.abc.ReceiveStream, count: int) -> bytes:
    """Receive exactly `count` bytes; fewer only if the other side has closed."""
    parts: list[bytes] = []
    while count and (part := await stream.receive_some(min(count, 1 << 20))):
        parts.append(bytes(part))
        count -= len(part)
    return b"".join(parts)


async def receive_frame(stream: trio.abc.ReceiveStream, longest: int = 1 << 31) -> tuple[bytes, bytes] | None:
    """Receive the kind and content of the next frame; None if the other side has closed."""
    head = await receive_exactly(stream, HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, size = HEAD.unpack(head)
    if size > longest:
        raise WrongHello(f"a frame of {size} bytes, where at most {longest} are allowed")
    content = await receive_exactly(stream, size)
    return (kind, content) if len(content) == size else None


async def send_frame(stream: trio.abc.SendStream, kind: bytes, content: bytes | memoryview = b"") -> None:
    """Send a frame."""
    await stream.send_all(HEAD.pack(kind, len(content)))
    if content:
        await stream.send_all(content)


async def receive_hello(stream: trio.SocketStream, token: str) -> dict[str, Any] | None:
    """Receive the hello of a new connection; log and return None if it is not valid."""
    try:
        with trio.fail_after(HELLO_SECONDS):
            frame = await receive_frame(stream, LONGEST_HELLO)
        if frame is None:
            return None
        hello: dict[str, Any] = json.loads(frame[1]) if frame[0] == HELLO else {}
        if not hmac.compare_digest(str(hello.get("token", "")).encode(), token.encode()):
            raise WrongHello("a wrong token")
    except _NO_HELLO as exc:
        peer: object = "an unknown address"
        with suppress(OSError):
            peer = stream.socket.getpeername()
        _log.warning("refused a connection from %s: %s", peer, str(exc) or "no hello in time")
        return None
    return hello
