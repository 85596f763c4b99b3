"""`split` and `decode`: cut text and bytes that arrive in chunks."""

import codecs
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal, cast, overload

from typing_extensions import override

from pullstream.blueprint import Call, Emits, Positive, Transformer
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.modules.grouping.groups import Gather, Part

CAPACITY: Final = 2**24
"""The default limit on the length of a piece, in characters or bytes."""


def _kind(chunk: object) -> type | None:
    return str if isinstance(chunk, str) else bytes if isinstance(chunk, (bytes, bytearray)) else None


class _Pieces(Part):
    """The chunks of the incomplete piece. They are joined only once, so the cost stays linear in the length."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._rest: list[Any] = []
        self._size = 0
        self.kind: type | None = None
        """The kind of all chunks, `str` or `bytes`, once it is known."""

    @override
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        for chunk in values:
            kind = _kind(chunk)
            if kind is None or kind is not (self.kind or kind):
                raise TypeError(
                    f"split needs chunks that are all text or all bytes, and a separator of the same kind, but got "
                    f"{chunk!r}"
                )
            self.kind = kind
            if chunk:
                self.cut(chunk, out)

    def cut(self, chunk: Any, out: list[Any]) -> None:
        """Emit the pieces that a chunk completes, and keep the rest of it."""
        raise NotImplementedError

    def keep(self, chunk: Any) -> None:
        """Add to the incomplete piece."""
        self._size += len(chunk)
        if self._size > self._capacity:
            raise ValueError(
                f"a piece is longer than {self._capacity} and has not ended yet. "
                f"Allow longer ones with split(capacity=...)"
            )
        if chunk:
            self._rest.append(chunk)

    def taken(self, chunk: Any) -> Any:
        """Remove and return the incomplete piece, with a chunk added to it."""
        rest, self._rest, self._size = self._rest, [], 0
        return chunk[:0].join((*rest, chunk)) if rest else chunk

    @override
    def finish(self, out: list[Any]) -> None:
        if self._rest:
            out.append(self.taken(self._rest[0][:0]))

    @override
    def __len__(self) -> int:
        return self._size


class _Lines(_Pieces):
    """Lines as `splitlines` finds them. A carriage return at the end of a chunk may be half of a line ending."""

    _half: Any = None

    @override
    def cut(self, chunk: Any, out: list[Any]) -> None:
        if self._half is not None:
            # The last line ended with "\r": a "\n" now belongs to that line ending.
            half, self._half = self._half, None
            if (half + chunk[:1]).splitlines() == [half[:0]]:
                chunk = chunk[1:]
        lines = chunk.splitlines()
        if not lines:
            return
        last = chunk[-1:]
        if last.splitlines() != [last]:
            self._half = last if last in ("\r", b"\r") else None
            rest = None
        else:
            rest = lines.pop()
        if lines:
            lines[0] = self.taken(lines[0])
            out.extend(lines)
        if rest is not None:
            self.keep(rest)

    @override
    def __len__(self) -> int:
        return super().__len__() + (self._half is not None)


class _Separated(_Pieces):
    def __init__(self, capacity: int, separator: Any) -> None:
        super().__init__(capacity)
        self.kind = _kind(separator)
        self._separator = separator
        self._tail = separator[:0]

    @override
    def cut(self, chunk: Any, out: list[Any]) -> None:
        separator = self._separator
        if separator not in self._tail + chunk:
            self.keep(chunk)
            rest = self._tail + chunk
        else:
            *pieces, rest = self.taken(chunk).split(separator)
            out.extend(pieces)
            self.keep(rest)
        # Keep the end of the rest that could begin a separator.
        self._tail = rest[max(0, len(rest) - len(separator) + 1) :]


class _Blocks(_Pieces):
    def __init__(self, size: int) -> None:
        super().__init__(size)

    @override
    def cut(self, chunk: Any, out: list[Any]) -> None:
        size = self._capacity
        if self._size + len(chunk) < size:
            self.keep(chunk)
            return
        whole = self.taken(chunk)
        full = len(whole) - len(whole) % size
        out.extend(whole[start : start + size] for start in range(0, full, size))
        self.keep(whole[full:])


def _separator(call: Call, separator: Any) -> Any:
    if call["size"] is not None:
        raise call.refuse("got both a separator and a size: pass only one of them")
    if not (isinstance(separator, (str, bytes)) and separator):
        raise call.refuse(
            f"needs text or bytes for its argument 'separator', but got {separator!r}. Leave it out to get lines"
        )
    return separator


@overload
def split(*, capacity: int = CAPACITY) -> Same[V]: ...
@overload
def split(separator: str, *, capacity: int = CAPACITY) -> Transformer[str, str]: ...
@overload
def split(separator: bytes, *, capacity: int = CAPACITY) -> Transformer[bytes, bytes]: ...
@overload
def split(*, size: int) -> Same[V]: ...
@transformer
@Emits.AT_ONCE
def split(
    separator: Annotated[Any, _separator] = None, *, size: Positive | None = None, capacity: Positive = CAPACITY
) -> Transformer[Any, Any]:
    r"""Cut text or bytes that arrive in chunks of any length: into lines, at a separator, or into blocks.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["tea\nri", "ce\r", "\nsalt"]), ps.split(), ps.collect()))
    ['tea', 'rice', 'salt']
    >>> ps.run(ps.pipe(ps.values([b"a;b", b"b;"]), ps.split(b";"), ps.collect()))
    [b'a', b'bb']
    >>> ps.run(ps.pipe(ps.values(["abc", "de"]), ps.split(size=2), ps.collect()))
    ['ab', 'cd', 'e']

    Lines end as in `str.splitlines` (and `bytes.splitlines`). The separator is not part of a piece. The text after the
    last separator is emitted, unless it is empty, when its time is complete; if the stream fails, it is dropped. A
    piece never spans two times. An incomplete piece may grow to `capacity` characters or bytes, 16 Mi by default;
    beyond that, a ValueError is raised.
    """
    if size is not None:
        return opens(Gather(lambda: _Blocks(size)))
    if separator is None:
        return opens(Gather(lambda: _Lines(capacity)))
    return opens(Gather(lambda: _Separated(capacity, separator)))


_BYTES: Final[tuple[type, ...]] = (bytes, bytearray, memoryview)


class _Decoded(Part):
    def __init__(self, decoder: codecs.IncrementalDecoder) -> None:
        self._decoder = decoder
        self._clean = decoder.getstate()

    @override
    def feed(self, values: Sequence[Any], out: list[Any]) -> None:
        for chunk in values:
            if not isinstance(chunk, _BYTES):
                hint = ", which is already text" if isinstance(chunk, str) else ""
                raise TypeError(f"decode needs bytes, but got {chunk!r}{hint}")
            data, state = cast("bytes", chunk), self._decoder.getstate()
            try:
                self._add(data, out)
            except UnicodeDecodeError as exc:
                # Deliver the text before it; the error's bytes may begin with half a character of an earlier chunk.
                self._decoder.setstate(state)
                self._add(data[: max(0, len(data) - len(exc.object) + exc.start)], out)
                raise

    def _add(self, chunk: bytes, out: list[Any]) -> None:
        text = self._decoder.decode(chunk)
        if text:
            out.append(text)

    @override
    def finish(self, out: list[Any]) -> None:
        text = self._decoder.decode(b"", final=True)
        if text:
            out.append(text)

    @override
    def __len__(self) -> int:
        # Half a character, or the effect of a byte order mark.
        return int(self._decoder.getstate() != self._clean)


def _known(call: Call, name: Any) -> Any:
    try:
        (codecs.getincrementaldecoder if call.name == "encoding" else codecs.lookup_error)(name)
    except (LookupError, TypeError) as exc:
        raise call.refuse(f"got {call.name}={name!r}: {exc}") from None
    return name


@transformer
@Emits.AT_ONCE
def decode(
    encoding: Annotated[str, _known] = "utf-8",
    errors: Annotated[Literal["strict", "replace", "ignore"], _known] = "strict",
) -> Transformer[bytes, str]:
    r"""Decode bytes that arrive in chunks, which may end in the middle of a character.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([b"caf\xc3", b"\xa9"]), ps.decode(), ps.collect()))
    ['caf', 'é']

    Each time is decoded separately. A character that is incomplete when its time is complete, or an invalid byte,
    raises UnicodeDecodeError after the text before it has been delivered. `errors` is as in `bytes.decode`.
    """
    decoder = codecs.getincrementaldecoder(encoding)
    return opens(Gather(lambda: _Decoded(decoder(errors)), sizes=(1, 1)))
