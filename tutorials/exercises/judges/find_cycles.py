"""The judge of `find_cycles`: compares with the theory's query, on simple loops and on random graphs."""

import random

from tutorials.judging import Wrong
from tutorials.judging.graphs import at_random, drawn, step, unsound

HINTS = {
    "": (
        "Read sections 10.2 and 10.3.",
        "Look at the cycle as a whole: at its normal form, and whether there is an f after all of its e.",
        "Extend paths until no new shape (start, end, up, down, strict) comes; then find the paths that are cycles.",
    ),
}

LOOP = {step("enter", "body", "i"), step("body", "leave", "e")}
FIXED = (
    LOOP | {step("body", "again"), step("again", "body", "f")},
    LOOP | {step("body", "again"), step("again", "body")},
    {step("in", "body"), step("body", "body"), step("body", "out")},
    {step("out", "in", "i"), step("in", "out", "e")},
    {step("body", "in", "i"), step("in", "in", "f"), step("in", "body", "e"), step("body", "out", "e")},
    {step("one", "two"), step("two", "one"), step("two", "three"), step("zero", "one"), step("two", "four", "i")},
)


def judge(answer, seeds):
    """Judge an answer."""
    chance = random.Random(seeds)  # noqa: S311 - nothing is kept secret by it
    for steps in (*FIXED, *(steps for steps, _ in at_random(chance, 100 * seeds, sound=False))):
        got, want = answer["find_cycles"](set(steps)), unsound(steps)
        if got == want:
            continue
        if not isinstance(got, (set, frozenset)):
            raise Wrong("values", f"it returned {got!r}; return a set of pairs", drawn(steps))
        missing, more = (sorted(some, key=repr) for some in (want - got, got - want))
        if missing:
            way = standing(steps, *missing[0])
            word = f"it lies on {' -> '.join(way)}, which does not advance"
            raise Wrong("values", f"{missing[0]} is missing: {word}", drawn(steps))
        raise Wrong("values", f"{more[0]} is in your result, but lies on no cycle that does not advance", drawn(steps))


def standing(steps, start, end):
    """Return the places of a shortest cycle through a step that does not advance."""
    agenda = [(there, summary, (here, there)) for here, there, summary in steps if (here, there) == (start, end)]
    seen = set()
    for place, summary, way in agenda:
        if place == start and not summary.strict:
            return way
        shape = place, summary.up, summary.down, summary.strict
        if shape not in seen:
            seen.add(shape)
            agenda += [(e, summary.followed_by(s), (*way, e)) for b, e, s in steps if b == place]
    return ()
