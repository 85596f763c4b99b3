"""The judge of `frontier`: compares with the theory's query, on one loop and on random graphs."""

import random

from pullstream.timely import LoopTime
from pullstream.timely.theory import frontier
from tutorials.judging import Wrong
from tutorials.judging.graphs import at_random, drawn, step, time_at

HINTS = {
    "": (
        "Read section 10.4.",
        "Which times are there at the start? How does one step change them? When does nothing change any more?",
        "Keep a set of times for each place. Add the results of each step, keep the `minimal` ones, and repeat.",
    ),
    "spin": (
        "Read section 10.4.",
        "Each round of a loop gives a later time. Is it minimal?",
        "Keep only the `minimal` times in every round, not just at the end.",
    ),
}

LOOP = {
    step("numbers", "enter"),
    step("enter", "body", "i"),
    step("body", "again"),
    step("again", "body", "f"),
    step("body", "out", "e"),
}
FIXED = (
    ({step("in", "out")}, {("in", 3): 1}),
    (LOOP, {("numbers", 0): 1}),
    (LOOP, {("numbers", 1): 1, ("again", LoopTime(0, (2,))): 1}),
    (LOOP, {("numbers", 1): 1, ("again", LoopTime(0, (2,))): -1, ("body", LoopTime(0, (5,))): 0}),
)


def judge(answer, seeds):
    """Judge an answer."""
    for steps, counts in worlds(seeds):
        got, want = answer["frontier"](set(steps), dict(counts)), by_the_theory(steps, counts)
        if not isinstance(got, dict):
            raise Wrong("values", f"with {counts}\nit returned {got!r}; return a dict", drawn(steps))
        for place in sorted({*got, *want}):
            mine, theirs = set(got.get(place, ())), want.get(place, set())
            if mine != theirs:
                told = f"to {place!r} may come {_why(mine, theirs)}\nit returned {_few(mine)}"
                raise Wrong("values", f"with {counts}\n{told}", drawn(steps))


def worlds(seeds):
    """Yield graphs with the pending messages in them."""
    yield from FIXED
    chance = random.Random(seeds)  # noqa: S311 - nothing is kept secret by it
    for steps, deep in at_random(chance, 60 * seeds, sound=True):
        places = [chance.choice("abcde") for _ in range(4)]
        yield steps, {(place, time_at(chance, deep[place])): chance.choice((-1, 0, 1, 1, 2)) for place in places}


def by_the_theory(steps, counts):
    """Return the result of the query for the positive counts."""
    return frontier(steps, set(), [stamp for stamp, count in counts.items() if count > 0])


def _few(times):
    few = sorted(times, key=repr)
    return f"{few[:3]}" if len(few) < 4 else f"{few[:3]} and {len(few) - 3} more"


def _why(mine, theirs):
    more, missing = (sorted(some, key=repr) for some in (mine - theirs, theirs - mine))
    told = f"{sorted(theirs, key=repr) or 'nothing'}"
    if missing:
        return f"{told}: {missing[0]} is missing"
    if any(time <= more[0] for time in theirs):
        return f"{told}: {more[0]} is after one of these"
    return f"{told}: nothing pending leads to {more[0]}"
