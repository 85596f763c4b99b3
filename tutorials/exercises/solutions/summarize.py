"""10.3 A graph as one node: from the outside backwards, a step longer until nothing changes."""

from pullstream.timely import IDENTITY
from pullstream.timely.order import minimal


def summarize(steps):
    """Return the minimal summaries of the paths that lead outside, for each place."""
    known = {}
    while True:
        longer = {}
        for start, end, summary in steps:
            for rest in [IDENTITY] if end == "outside" else known.get(end, ()):
                longer.setdefault(start, set()).add(summary.followed_by(rest))
        longer = {place: set(minimal(summaries)) for place, summaries in longer.items()}
        if longer == known:
            return known
        known = longer
