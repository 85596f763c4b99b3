# wrong: values
"""It keeps all paths, and gives up after going round for a while."""

from pullstream.timely import IDENTITY


def summarize(steps):
    known = {}
    for _ in steps:
        longer = {}
        for start, end, summary in steps:
            rests = {IDENTITY} if end == "outside" else known.get(end, set())
            longer.setdefault(start, set()).update(summary.followed_by(rest) for rest in rests)
        longer = {place: set(summaries) for place, summaries in longer.items() if summaries}
        known = longer
    return known
