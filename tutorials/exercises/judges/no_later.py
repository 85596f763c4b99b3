"""The judge of `less_equal`: tries all pairs of short paths, and shows a time for each mistake."""

from functools import cache
from itertools import product

from pullstream.timely import LoopSummary
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Read sections 9.7 and 9.8.",
        "Send a large counter, and one that is 0, along both paths. Which counters does a path replace?",
        "A path that leaves fewer loops may be later. Else compare what each adds; a kept counter is at least 0.",
    ),
}


def judge(answer, seeds):
    """Judge an answer."""
    less_equal = answer["less_equal"]
    summary = cache(LoopSummary.word)
    for p, q in sorted(pairs(), key=lambda pair: (len(pair[0] + pair[1]), pair)):
        got, want = less_equal(p, q), summary(p) <= summary(q)
        if got is not want:
            raise Wrong("values", f"less_equal({p!r}, {q!r}) returned {got!r}; {_why(p, q, want)}")


def pairs():
    """Return pairs of normal forms between the same places."""
    words = [
        "e" * leaves + "".join(["f" * counts[0], *("i" + "f" * count for count in counts[1:])])
        for leaves in range(3)
        for enters in range(3)
        for counts in product(range(3), repeat=enters + 1)
    ]
    return [(p, q) for p, q in product(words, words) if p.count("i") - p.count("e") == q.count("i") - q.count("e")]


def _why(p, q, want):
    shown = f"comes out of {p!r} as {{}}, and of {q!r} as {{}}"
    for time in product((0, 9), repeat=3):
        mine, theirs = through(p, time), through(q, time)
        if not all(map(int.__le__, mine, theirs)):
            return f"{time} {shown.format(mine, theirs)}"
    time = (3, 3, 7)
    return f"no time comes out later: {time} {shown.format(through(p, time), through(q, time))}"


def through(path, time):
    """Send a time along a path, letter by letter."""
    for letter in path:
        time = {"e": time[:-1], "f": (*time[:-1], time[-1] + 1), "i": (*time, 0)}[letter]
    return time
