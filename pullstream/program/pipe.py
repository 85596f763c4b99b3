"""`pipe`: composing modules (001's table), typed for up to ten parts."""

# The overloads below are one pattern, repeated for every length; pipes longer than ten parts nest.

from typing import Any, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Blueprint, Sink, Site, Source, Transformer, advice
from pullstream.errors import CompositionError
from pullstream.program.pipeline import Pipeline

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
F = TypeVar("F")
G = TypeVar("G")
H = TypeVar("H")
I = TypeVar("I")  # noqa: E741 - one letter of the row
J = TypeVar("J")
K = TypeVar("K")
R = TypeVar("R")


@overload
def pipe(p0: Source[A], p1: Transformer[A, B], /) -> Source[B]: ...
@overload
def pipe(p0: Source[A], p1: Sink[A, R], /) -> Pipeline[R]: ...
@overload
def pipe(p0: Transformer[A, B], p1: Transformer[B, C], /) -> Transformer[A, C]: ...
@overload
def pipe(p0: Transformer[A, B], p1: Sink[B, R], /) -> Sink[A, R]: ...
@overload
def pipe(p0: Source[A], p1: Transformer[A, B], p2: Transformer[B, C], /) -> Source[C]: ...
@overload
def pipe(p0: Source[A], p1: Transformer[A, B], p2: Sink[B, R], /) -> Pipeline[R]: ...
@overload
def pipe(p0: Transformer[A, B], p1: Transformer[B, C], p2: Transformer[C, D], /) -> Transformer[A, D]: ...
@overload
def pipe(p0: Transformer[A, B], p1: Transformer[B, C], p2: Sink[C, R], /) -> Sink[A, R]: ...
@overload
def pipe(p0: Source[A], p1: Transformer[A, B], p2: Transformer[B, C], p3: Transformer[C, D], /) -> Source[D]: ...
@overload
def pipe(p0: Source[A], p1: Transformer[A, B], p2: Transformer[B, C], p3: Sink[C, R], /) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B], p1: Transformer[B, C], p2: Transformer[C, D], p3: Transformer[D, E], /
) -> Transformer[A, E]: ...
@overload
def pipe(p0: Transformer[A, B], p1: Transformer[B, C], p2: Transformer[C, D], p3: Sink[D, R], /) -> Sink[A, R]: ...
@overload
def pipe(
    p0: Source[A], p1: Transformer[A, B], p2: Transformer[B, C], p3: Transformer[C, D], p4: Transformer[D, E], /
) -> Source[E]: ...
@overload
def pipe(
    p0: Source[A], p1: Transformer[A, B], p2: Transformer[B, C], p3: Transformer[C, D], p4: Sink[D, R], /
) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B], p1: Transformer[B, C], p2: Transformer[C, D], p3: Transformer[D, E], p4: Transformer[E, F], /
) -> Transformer[A, F]: ...
@overload
def pipe(
    p0: Transformer[A, B], p1: Transformer[B, C], p2: Transformer[C, D], p3: Transformer[D, E], p4: Sink[E, R], /
) -> Sink[A, R]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    /,
) -> Source[F]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Sink[E, R],
    /,
) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    /,
) -> Transformer[A, G]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Sink[F, R],
    /,
) -> Sink[A, R]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    /,
) -> Source[G]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Sink[F, R],
    /,
) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    /,
) -> Transformer[A, H]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Sink[G, R],
    /,
) -> Sink[A, R]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    p7: Transformer[G, H],
    /,
) -> Source[H]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    p7: Sink[G, R],
    /,
) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    p7: Transformer[H, I],
    /,
) -> Transformer[A, I]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    p7: Sink[H, R],
    /,
) -> Sink[A, R]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    p7: Transformer[G, H],
    p8: Transformer[H, I],
    /,
) -> Source[I]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    p7: Transformer[G, H],
    p8: Sink[H, R],
    /,
) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    p7: Transformer[H, I],
    p8: Transformer[I, J],
    /,
) -> Transformer[A, J]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    p7: Transformer[H, I],
    p8: Sink[I, R],
    /,
) -> Sink[A, R]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    p7: Transformer[G, H],
    p8: Transformer[H, I],
    p9: Transformer[I, J],
    /,
) -> Source[J]: ...
@overload
def pipe(
    p0: Source[A],
    p1: Transformer[A, B],
    p2: Transformer[B, C],
    p3: Transformer[C, D],
    p4: Transformer[D, E],
    p5: Transformer[E, F],
    p6: Transformer[F, G],
    p7: Transformer[G, H],
    p8: Transformer[H, I],
    p9: Sink[I, R],
    /,
) -> Pipeline[R]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    p7: Transformer[H, I],
    p8: Transformer[I, J],
    p9: Transformer[J, K],
    /,
) -> Transformer[A, K]: ...
@overload
def pipe(
    p0: Transformer[A, B],
    p1: Transformer[B, C],
    p2: Transformer[C, D],
    p3: Transformer[D, E],
    p4: Transformer[E, F],
    p5: Transformer[F, G],
    p6: Transformer[G, H],
    p7: Transformer[H, I],
    p8: Transformer[I, J],
    p9: Sink[J, R],
    /,
) -> Sink[A, R]: ...
def pipe(*parts: Blueprint) -> Any:
    """Compose modules, from upstream to downstream.

    | composition | gives |
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
        CompositionError: the parts do not fit; a type checker says so too.
    """
    site = Site.here()
    if not parts:
        raise CompositionError(f"pipe() at {site} has nothing to compose")
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
        # What prints itself as a table takes many lines to say little.
        shown = f"a {type(part).__name__}" if "\n" in repr(part) else repr(part)
        raise CompositionError(f"{place} is {shown}, which is not a module{advice('pipe', part, source=number == 0)}")
    if isinstance(part, Pipeline):
        raise CompositionError(f"{place} is a whole pipeline, {part!r}: it is run, and composes with nothing")
    if isinstance(part, Source) and number > 0:
        raise CompositionError(f"{place} is a source, {part!r}: a source comes first")
    if isinstance(part, Sink) and number < count - 1:
        raise CompositionError(f"{place} is a sink, {part!r}: a sink comes last, and nothing can follow it")
