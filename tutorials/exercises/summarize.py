"""10.3 A graph as one node.

A graph is a set of steps as in 10.1. It is part of a larger one, which it sees as a single place, "outside": messages
come from there and go there. Seen from outside, the graph is a node like any other, and only the change of a time on
the way through it matters.

`summarize(steps)` returns, for each place with a path to the outside, the set of the minimal summaries of such paths. A
summary `q` is left out if another, `p`, never gives a later time (`p <= q`, as in 9.3); two may both be minimal. For
"outside" itself it returns the summaries of the paths that come in and go out again. A path ends when it reaches the
outside for the first time.

`first.followed_by(then)` joins paths, and `pullstream.timely.order.minimal` also returns the minimal elements of some
summaries.
"""


def summarize(steps):
    return {start: {summary} for start, end, summary in steps if end == "outside"}  # only those of one step
