"""An agenda of paths from places to the outside; of two that could be one, the later goes no further."""

from pullstream.timely import Antichain


def summarize(steps):
    known = {}
    agenda = [(start, summary) for start, end, summary in steps if end == "outside"]
    while agenda:
        place, path = agenda.pop(0)
        best = known.get(place, Antichain())
        if best.less_equal(path):
            continue
        known[place] = best.insert(path)
        if place != "outside":
            agenda += [(start, summary.followed_by(path)) for start, end, summary in steps if end == place]
    return {place: set(paths) for place, paths in known.items()}
