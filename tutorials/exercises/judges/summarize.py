"""The judge of `summarize`: compares with the theory's query, on graphs with an outside."""

import random

from pullstream.timely import IDENTITY
from pullstream.timely.theory import summarize
from tutorials.judging import Wrong
from tutorials.judging.graphs import at_random, drawn, step

HINTS = {
    "": (
        "Read section 10.5.",
        "Begin at the end: how do a place's summaries follow from those of its successors? Where does a path end?",
        "For each step, `summary.followed_by(rest)` for each `rest` of its end; or `summary` alone if it ends outside.",
    ),
}

FIXED = (
    {step("outside", "in"), step("in", "outside", "f")},
    {step("outside", "in", "i"), step("in", "in", "f"), step("in", "outside", "e")},
    {step("outside", "in"), step("in", "outside", "f"), step("in", "a"), step("a", "b"), step("b", "outside")},
    {step("outside", "in"), step("in", "outside"), step("in", "up", "e"), step("up", "up", "f"), step("up", "in", "i")},
    {step("a", "outside"), step("outside", "b", "e"), step("b", "outside", "i")},
    {
        step("outside", "a"), step("a", "outside"), step("a", "b", "e"), step("b", "c", "f"), step("c", "outside", "i"),
        step("b", "b", "f"), step("lost", "lost", "f"), step("a", "lost"),
    },
)  # fmt: skip


def judge(answer, seeds):
    """Judge an answer."""
    for steps in worlds(seeds):
        got, want = answer["summarize"](set(steps)), by_the_theory(steps)
        if not isinstance(got, dict):
            raise Wrong("values", f"it returned {got!r}; return a dict", drawn(steps))
        for place in sorted({*got, *want}):
            mine, theirs = ({*map(_word, found.get(place, ()))} for found in (got, want))
            if mine != theirs:
                told = [sorted(words, key=lambda word: (len(word), word)) for words in (mine, theirs)]
                raise Wrong("values", f"from {place!r} it returned {told[0]}; minimal are {told[1]}", drawn(steps))


def worlds(seeds):
    """Yield graphs with an outside, which is in a loop half of the time."""
    yield from FIXED
    chance = random.Random(seeds)  # noqa: S311 - nothing is kept secret by it
    for steps, _ in at_random(chance, 120 * seeds, sound=True):
        named = {"a": "outside"}
        yield {(named.get(start, start), named.get(end, end), summary) for start, end, summary in steps}


def by_the_theory(steps):
    """Run the query on a graph with the outside split in two: its exit, and its entry."""
    nodes = {(start, "there" if end == "outside" else end, summary) for start, end, summary in steps}
    found = summarize(nodes, set(), ["there"])
    return {start: summaries for (start, _), summaries in found.items() if start != "there"}


def _word(summary):
    """Return the letters of a summary; "1" is the path without effect."""
    return getattr(summary, "letters", "") or ("1" if summary == IDENTITY else repr(summary))
