"""10.1 Does every cycle advance? Keep only the shape of each path; the paths themselves are infinite."""

from pullstream.timely import LoopSummary


def find_cycles(steps):
    """Return the steps that lie on a cycle that does not advance."""
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
    """Return a path that leaves and enters as many loops, and advances if this one does."""
    return LoopSummary(summary.up, int(summary.strict), (0,) * summary.down)
