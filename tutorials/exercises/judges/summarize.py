"""What is asked of `summarize`: what the theory's query says, of graphs with an outside."""

import random

from pullstream.timely import IDENTITY
from pullstream.timely.theory import summarize
from tutorials.judging import Wrong
from tutorials.judging.graphs import at_random, drawn, step

HINTS = {
    "": (
        "Chapter 10, piece 5.",
        "Begin at the end: what is known of a place when what is known of its successors has been found?",
        "For each step, `summary.followed_by(rest)` for each rest of its end, or alone if that is outside.",
    ),
}

FIXED = (
    {step("outside", "in"), step("in", "outside", "f")},
    {step("outside", "in", "i"), step("in", "in", "f"), step("in", "outside", "e")},
    {step("outside", "in"), step("in", "outside", "f"), step("in", "a"), step("a", "b"), step("b", "outside")},
    {step("outside", "in"), step("in", "outside"), step("in", "up", "e"), step("up", "up", "f"), step("up", "in", "i")},
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
            raise Wrong("values", f"it gave {got!r}, and should give a dict", drawn(steps))
        for place in sorted({*got, *want}):
            mine, theirs = ({*map(_word, found.get(place, ()))} for found in (got, want))
            if mine != theirs:
                told = [sorted(words, key=lambda word: (len(word), word)) for words in (mine, theirs)]
                raise Wrong("values", f"from {place!r} it gave {told[0]}, where the least are {told[1]}", drawn(steps))


def worlds(seeds):
    """Graphs with an outside, some place or other; which lies in a loop as often as not."""
    yield from FIXED
    chance = random.Random(seeds)  # noqa: S311 - nothing is kept secret by it
    for steps, _ in at_random(chance, 120 * seeds, sound=True):
        named = {"a": "outside"}
        yield {(named.get(start, start), named.get(end, end), summary) for start, end, summary in steps}


def by_the_theory(steps):
    """What the query says of a graph whose outside is two places: what comes from it, and what goes there."""
    nodes = {(start, "there" if end == "outside" else end, summary) for start, end, summary in steps}
    found = summarize(nodes, set(), ["there"])
    return {start: summaries for (start, _), summaries in found.items() if start != "there"}


def _word(summary):
    """How it is spelled; "1" is the path that does nothing."""
    return getattr(summary, "letters", "") or ("1" if summary == IDENTITY else repr(summary))
