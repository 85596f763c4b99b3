"""10.2 What can still come? Extend by a step until nothing changes, and keep the minimal times."""

from pullstream.timely.order import minimal


def frontier(steps, counts):
    """Return the minimal times that may still come, for each place that anything can reach."""
    there = {}
    for (place, time), count in counts.items():
        if count > 0:
            there.setdefault(place, set()).add(time)
    while True:
        further = {place: set(times) for place, times in there.items()}
        for start, end, summary in steps:
            for time in there.get(start, ()):
                further.setdefault(end, set()).add(summary.results_in(time))
        further = least(further)
        if further == there:
            return there
        there = further


def least(there):
    """Keep the minimal times only; otherwise a loop would go round forever."""
    return {place: set(minimal(times)) for place, times in there.items()}
