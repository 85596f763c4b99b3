"""10.1 Does every cycle advance? Of a path only its shape is kept, or there would be no end of paths."""

from pullstream.timely import LoopSummary


def find_cycles(steps):
    """The steps that lie on a cycle that does not advance."""
    paths = {(start, end, shape(summary)) for start, end, summary in steps}
    while True:
        longer = {
            (start, end, shape(first.followed_by(then)))
            for start, middle, first in paths
            for here, end, then in steps
            if here == middle
        }
        if longer <= paths:
            break
        paths |= longer
    round_trips = {
        (start, end, summary.followed_by(back))
        for start, end, summary in steps
        for here, home, back in paths
        if (here, home) == (end, start)
    }
    at_once = {(start, end, summary) for start, end, summary in steps if start == end}
    return {(start, end) for start, end, summary in round_trips | at_once if not summary.strict}


def shape(summary):
    """A path that leaves and enters as many loops, and that advances if this one does."""
    return LoopSummary(summary.up, int(summary.strict), (0,) * summary.down)
