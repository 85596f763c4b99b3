"""Annotated code that mypy must pass as well; it infers less across a pipe than basedpyright does."""

from typing import assert_type

import pullstream as ps


def length(text: str) -> int:
    return len(text)


async def half(number: int) -> float:
    return number / 2


words: ps.Source[str] = ps.values(["a", "bb"])
measured: ps.Transformer[str, int] = ps.map(length)
halved: ps.Transformer[int, float] = ps.map_async(half, 4)
everything: ps.Sink[float, list[float]] = ps.collect()
largest: ps.Sink[float, float] = ps.reduce(max, 0.0)

assert_type(ps.pipe(words, measured), ps.Source[int])
assert_type(ps.pipe(measured, halved), ps.Transformer[str, float])
assert_type(ps.pipe(words, measured, halved, everything), ps.Pipeline[list[float]])
assert_type(ps.pipe(words, measured, halved, ps.tee(everything, largest)), ps.Pipeline[tuple[list[float], float]])
