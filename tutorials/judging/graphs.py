"""Graphs of the exercises, sets of steps (start, end, summary): as text, at random, and their unsound steps."""

import random
from collections.abc import Iterator
from typing import Any, TypeAlias

from pullstream.timely import LoopSummary, LoopTime
from pullstream.timely.summary import Summary
from pullstream.timely.theory import find_cycles

Step: TypeAlias = tuple[str, str, Summary]


def step(start: str, end: str, word: str = "") -> Step:
    """Return a step with a summary given by its letters."""
    return start, end, LoopSummary.word(word)


def drawn(steps: set[Step]) -> str:
    """Return the steps as text, a few per line."""
    told = [f"{start} -{_letters(summary)}-> {end}" for start, end, summary in sorted(steps, key=repr)]
    return "\n".join("   ".join(told[n : n + 4]) for n in range(0, len(told), 4))


def _letters(summary: Summary) -> str:
    return getattr(summary, "letters", "") or "1"


def at_random(chance: random.Random, number: int, *, sound: bool) -> Iterator[tuple[set[Step], dict[str, int]]]:
    """Yield random graphs of a few places, with the loop depth of each place; if `sound`, every cycle advances."""
    while number:
        deep = {place: chance.randrange(3) for place in "abcde"}
        steps: set[Step] = set()
        for _ in range(chance.randint(4, 8)):
            start, end = chance.choice("abcde"), chance.choice("abcde")
            risen = deep[end] - deep[start]
            same = chance.choice(["", "f"]) if deep[start] else ""
            steps.add(step(start, end, "i" * risen or "e" * -risen or same))
        if not sound or not unsound(steps):
            number -= 1
            yield steps, deep


def time_at(chance: random.Random, depth: int) -> Any:
    """Return a random time at a loop depth."""
    day, counters = chance.randrange(3), tuple(chance.randrange(3) for _ in range(depth))
    return LoopTime(day, counters) if depth else day


def unsound(steps: set[Step]) -> set[Any]:
    """Return the steps on cycles that do not advance, as the theory finds them."""
    # The theory's queries expect ports, but only compare them, so names will do.
    nodes: Any = steps
    return find_cycles(nodes, set())
