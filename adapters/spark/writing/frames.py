"""Messages between the driver and Spark's processes, which fetch a source, over TCP: frames, and a token.

A frame is a kind (one byte), a length (eight bytes, most significant first) and so many bytes. The first one on a
connection is a hello, JSON with the token; whoever does not know the token is logged, and hears nothing.
"""

import hmac
import json
import logging
import secrets
import struct
from typing import Any

import trio

from ...arrow import RecordBatch, pyarrow

HEAD = struct.Struct("!cQ")
HELLO = b"H"
LONGEST_HELLO = 1 << 16
HELLO_SECONDS = 30

_log = logging.getLogger("pullstream.spark")


class WrongHello(Exception):
    """A connection that is not one of ours."""


# JSON may be nested deeper than Python reads.
_NO_HELLO = (WrongHello, ValueError, AttributeError, RecursionError, trio.TooSlowError, trio.BrokenResourceError)


def new_token() -> str:
    """A secret for one listener."""
    return secrets.token_hex(16)


async def receive_exactly(stream: trio.abc.ReceiveStream, count: int) -> bytes:
    """Exactly `count` bytes; fewer if the other side has closed."""
    parts: list[bytes] = []
    while count and (part := await stream.receive_some(min(count, 1 << 20))):
        parts.append(bytes(part))
        count -= len(part)
    return b"".join(parts)


async def receive_frame(stream: trio.abc.ReceiveStream, longest: int = 1 << 31) -> tuple[bytes, bytes] | None:
    """The next frame's kind and content; None when the other side has closed."""
    head = await receive_exactly(stream, HEAD.size)
    if len(head) < HEAD.size:
        return None
    kind, size = HEAD.unpack(head)
    if size > longest:
        raise WrongHello(f"a frame of {size} bytes, where at most {longest} are allowed")
    content = await receive_exactly(stream, size)
    return (kind, content) if len(content) == size else None


def packed(batch: RecordBatch) -> memoryview:
    """A batch as it travels."""
    pa = pyarrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


async def send_frame(stream: trio.abc.SendStream, kind: bytes, content: bytes | memoryview = b"") -> None:
    """Send a frame."""
    await stream.send_all(HEAD.pack(kind, len(content)))
    if content:
        await stream.send_all(content)


def _check(hello: dict[str, Any], token: str) -> None:
    if not hmac.compare_digest(str(hello.get("token", "")).encode(), token.encode()):
        raise WrongHello("a wrong token")


async def receive_hello(stream: trio.SocketStream, token: str) -> dict[str, Any] | None:
    """The announcement of a new connection; None, and a line in the log, if it does not know the token."""
    try:
        with trio.fail_after(HELLO_SECONDS):
            frame = await receive_frame(stream, LONGEST_HELLO)
        if frame is None:
            return None
        hello: dict[str, Any] = json.loads(frame[1]) if frame[0] == HELLO else {}
        _check(hello, token)
    except _NO_HELLO as exc:
        _log.warning("refused a connection from %s: %s", _peer(stream), str(exc) or "no hello in time")
        return None
    return hello


def _peer(stream: trio.SocketStream) -> str:
    try:
        return str(stream.socket.getpeername())
    except OSError:
        return "somebody who has left"
