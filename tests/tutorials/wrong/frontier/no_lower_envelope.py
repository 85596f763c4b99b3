# wrong: values
"""It also keeps times that are not minimal, and gives up after going round for a while."""


def frontier(steps, counts):
    there = {}
    for (place, time), count in counts.items():
        if count > 0:
            there.setdefault(place, set()).add(time)
    there = least(there)
    for _ in range(2 * len(steps)):
        further = {place: set(times) for place, times in there.items()}
        for start, end, summary in steps:
            for time in there.get(start, ()):
                further.setdefault(end, set()).add(summary.results_in(time))
        further = least(further)
        there = further
    return there


def least(there):
    return {place: set(times) for place, times in there.items()}
