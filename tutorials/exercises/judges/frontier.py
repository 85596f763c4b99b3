"""What is asked of `frontier`: what the theory's query says, of one loop and of others."""

import random

from pullstream.timely import LoopTime
from pullstream.timely.theory import frontier
from tutorials.judging import Wrong
from tutorials.judging.graphs import at_random, drawn, step, time_at

HINTS = {
    "": (
        "Chapter 10, piece 4.",
        "Which times are there to begin with? What does one step make of them? When does nothing change any more?",
        "Keep a set of times for each place; add what each step makes of them, keep `minimal` of each; again.",
    ),
    "spin": (
        "Chapter 10, piece 4.",
        "Round a loop there is always a later time. Is it one of the least?",
        "Keep only `minimal` times in every round, not at the end.",
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
        said = f"with {counts}\nit gave {got}"
        if not isinstance(got, dict):
            raise Wrong("values", f"{said}, and should give a dict", drawn(steps))
        for place in sorted({*got, *want}):
            mine, theirs = set(got.get(place, ())), want.get(place, set())
            if mine != theirs:
                raise Wrong("values", f"{said}\nto {place!r} may come {_why(mine, theirs)}", drawn(steps))


def worlds(seeds):
    """Graphs, and what is where in them."""
    yield from FIXED
    chance = random.Random(seeds)  # noqa: S311 - nothing is kept secret by it
    for steps, deep in at_random(chance, 60 * seeds, sound=True):
        places = [chance.choice("abcde") for _ in range(4)]
        yield steps, {(place, time_at(chance, deep[place])): chance.choice((-1, 0, 1, 1, 2)) for place in places}


def by_the_theory(steps, counts):
    """What the query says of what is really there."""
    return frontier(steps, set(), [stamp for stamp, count in counts.items() if count > 0])


def _why(mine, theirs):
    more, missing = (sorted(some, key=repr) for some in (mine - theirs, theirs - mine))
    told = f"{sorted(theirs, key=repr) or 'nothing'}"
    if missing:
        return f"{told}: {missing[0]} is missing"
    if any(time <= more[0] for time in theirs):
        return f"{told}: {more[0]} is after one of these"
    return f"{told}: nothing that is there leads to {more[0]}"
