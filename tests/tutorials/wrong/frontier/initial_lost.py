# wrong: values
"""It returns times that arrive from elsewhere and forgets those already at the place."""

from pullstream.timely.order import minimal


def frontier(steps, counts):
    there = {}
    for (place, time), count in counts.items():
        if count > 0:
            there.setdefault(place, set()).add(time)
    there = least(there)
    while True:
        further = {place: set(times) for place, times in there.items()}
        for start, end, summary in steps:
            for time in there.get(start, ()):
                further.setdefault(end, set()).add(summary.results_in(time))
        further = least(further)
        if further == there:
            return least(come(steps, there))
        there = further


def come(steps, there):
    found = {}
    for start, end, summary in steps:
        for time in there.get(start, ()):
            found.setdefault(end, set()).add(summary.results_in(time))
    return found


def least(there):
    return {place: set(minimal(times)) for place, times in there.items()}
