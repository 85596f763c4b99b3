# wrong: values
"""It forgets that one step can be a cycle."""

from pullstream.timely import LoopSummary


def find_cycles(steps):
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
        if (here, home) == (end, start) and start != end
    }
    return {(start, end) for start, end, summary in round_trips if not summary.strict}


def shape(summary):
    return LoopSummary(summary.up, int(summary.strict), (0,) * summary.down)
