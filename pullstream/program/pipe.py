"""`pipe`: compose modules; typed for up to ten parts."""

from typing import Any, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Blueprint, Sink, Site, Source, Transformer, advice
from pullstream.blueprint.parts import Gathering, Into, Onward
from pullstream.blueprint.variables import A, B, C, D, R
from pullstream.errors import CompositionError
from pullstream.program.pipeline import Pipeline

E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
H = TypeVar("H")
I = TypeVar("I")  # noqa: E741 - one letter of the row
J = TypeVar("J")
Z = TypeVar("Z")

# The overloads below repeat one pattern for every length. Nest pipes for more than ten parts. `L` is `collect()`, a
# sink with a type of its own: see `Gathers`.
S = Source
T = Onward
K = Into
L = Gathering


@overload
def pipe(a: S[A], b: T[A, B], /) -> Source[B]: ...
@overload
def pipe(a: S[A], b: L[A], /) -> Pipeline[list[A]]: ...
@overload
def pipe(a: S[A], b: K[A, R], /) -> Pipeline[R]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], /) -> Transformer[A, C]: ...
@overload
def pipe(a: T[A, B], b: L[B], /) -> Sink[A, list[B]]: ...
@overload
def pipe(a: T[A, B], b: K[B, R], /) -> Sink[A, R]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], /) -> Source[C]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: L[B], /) -> Pipeline[list[B]]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: K[B, R], /) -> Pipeline[R]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], /) -> Transformer[A, D]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: L[C], /) -> Sink[A, list[C]]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: K[C, R], /) -> Sink[A, R]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], /) -> Source[D]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: L[C], /) -> Pipeline[list[C]]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: K[C, R], /) -> Pipeline[R]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], /) -> Transformer[A, E]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: L[D], /) -> Sink[A, list[D]]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: K[D, R], /) -> Sink[A, R]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], /) -> Source[E]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: L[D], /) -> Pipeline[list[D]]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: K[D, R], /) -> Pipeline[R]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], /) -> Transformer[A, F]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: L[E], /) -> Sink[A, list[E]]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: K[E, R], /) -> Sink[A, R]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], /) -> Source[F]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: L[E], /) -> Pipeline[list[E]]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: K[E, R], /) -> Pipeline[R]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], /) -> Transformer[A, G]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: L[F], /) -> Sink[A, list[F]]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: K[F, R], /) -> Sink[A, R]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], /) -> Source[G]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: L[F], /) -> Pipeline[list[F]]: ...
@overload
def pipe(a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: K[F, R], /) -> Pipeline[R]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], /
) -> Transformer[A, H]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: L[G], /) -> Sink[A, list[G]]: ...
@overload
def pipe(a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: K[G, R], /) -> Sink[A, R]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: T[G, H], /
) -> Source[H]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: L[G], /
) -> Pipeline[list[G]]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: K[G, R], /
) -> Pipeline[R]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], h: T[H, I], /
) -> Transformer[A, I]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], h: L[H], /
) -> Sink[A, list[H]]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], h: K[H, R], /
) -> Sink[A, R]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: T[G, H], i: T[H, I], /
) -> Source[I]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: T[G, H], i: L[H], /
) -> Pipeline[list[H]]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: T[G, H], i: K[H, R], /
) -> Pipeline[R]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], h: T[H, I], i: T[I, J], /
) -> Transformer[A, J]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], h: T[H, I], i: L[I], /
) -> Sink[A, list[I]]: ...
@overload
def pipe(
    a: T[A, B], b: T[B, C], c: T[C, D], d: T[D, E], e: T[E, F], f: T[F, G], g: T[G, H], h: T[H, I], i: K[I, R], /
) -> Sink[A, R]: ...
@overload
def pipe(
    a: S[A],
    b: T[A, B],
    c: T[B, C],
    d: T[C, D],
    e: T[D, E],
    f: T[E, F],
    g: T[F, G],
    h: T[G, H],
    i: T[H, I],
    j: T[I, J],
    /,
) -> Source[J]: ...
@overload
def pipe(
    a: S[A], b: T[A, B], c: T[B, C], d: T[C, D], e: T[D, E], f: T[E, F], g: T[F, G], h: T[G, H], i: T[H, I], j: L[I], /
) -> Pipeline[list[I]]: ...
@overload
def pipe(
    a: S[A],
    b: T[A, B],
    c: T[B, C],
    d: T[C, D],
    e: T[D, E],
    f: T[E, F],
    g: T[F, G],
    h: T[G, H],
    i: T[H, I],
    j: K[I, R],
    /,
) -> Pipeline[R]: ...
@overload
def pipe(
    a: T[A, B],
    b: T[B, C],
    c: T[C, D],
    d: T[D, E],
    e: T[E, F],
    f: T[F, G],
    g: T[G, H],
    h: T[H, I],
    i: T[I, J],
    j: T[J, Z],
    /,
) -> Transformer[A, Z]: ...
@overload
def pipe(
    a: T[A, B],
    b: T[B, C],
    c: T[C, D],
    d: T[D, E],
    e: T[E, F],
    f: T[F, G],
    g: T[G, H],
    h: T[H, I],
    i: T[I, J],
    j: L[J],
    /,
) -> Sink[A, list[J]]: ...
@overload
def pipe(
    a: T[A, B],
    b: T[B, C],
    c: T[C, D],
    d: T[D, E],
    e: T[E, F],
    f: T[F, G],
    g: T[G, H],
    h: T[H, I],
    i: T[I, J],
    j: K[J, R],
    /,
) -> Sink[A, R]: ...
def pipe(*parts: Any) -> Any:
    """Compose modules, from upstream to downstream.

    | composition | result |
    | --- | --- |
    | source, transformers | source |
    | transformers | transformer |
    | transformers, sink | sink |
    | source, transformers, sink | pipeline, for `run` |

    >>> import pullstream as ps
    >>> shout = ps.pipe(ps.map(str.strip), ps.map(str.upper))
    >>> ps.run(ps.pipe(ps.values([" a", "b "]), shout, ps.collect()))
    ['A', 'B']

    Raises:
        CompositionError: the parts do not fit together; a type checker reports this too.
    """
    site = Site.here()
    if not parts:
        raise CompositionError(f"pipe() at {site} has nothing to compose: give it modules")
    for number, part in enumerate(parts):
        _fits(part, number, len(parts), site)
    modules = tuple(module for part in parts for module in part.modules)
    kinds: dict[tuple[bool, bool], type[Blueprint]] = {
        (True, True): Pipeline,
        (True, False): Source,
        (False, True): Sink,
        (False, False): Transformer,
    }
    return kinds[isinstance(parts[0], Source), isinstance(parts[-1], Sink)](modules)


def _fits(part: object, number: int, count: int, site: Site) -> None:
    place = f"part {number + 1} of pipe() at {site}"
    if not isinstance(part, Blueprint):
        # A long repr, such as a table's, would hide the message.
        shown = f"a {type(part).__name__}" if "\n" in repr(part) else repr(part)
        hint = advice("pipe", part, wanted="" if number else "source")
        raise CompositionError(f"{place} is {shown}, which is not a module{hint}")
    if isinstance(part, Pipeline):
        raise CompositionError(f"{place} is a complete pipeline, {part!r}: run it; it cannot be composed further")
    if isinstance(part, Source) and number > 0:
        raise CompositionError(
            f"{place} is a source, {part!r}: a source must come first. To add a "
            f"stream, combine sources: merge(pipe(source, ...), other), or concat, zip, ..."
        )
    if isinstance(part, Sink) and number < count - 1:
        raise CompositionError(f"{place} is a sink, {part!r}: a sink must come last")
