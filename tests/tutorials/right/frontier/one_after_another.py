"""An agenda of what comes where; what is not among the least there leads nowhere else than these do."""

from pullstream.timely import Antichain


def frontier(steps, counts):
    there = {}
    agenda = [stamp for stamp, count in counts.items() if count > 0]
    while agenda:
        place, time = agenda.pop()
        known = there.get(place, Antichain())
        if not known.less_equal(time):
            there[place] = known.insert(time)
            agenda += [(end, summary.results_in(time)) for start, end, summary in steps if start == place]
    return {place: set(times) for place, times in there.items()}
