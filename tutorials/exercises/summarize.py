"""10.3 A graph as one node.

A graph is a set of steps as in 10.1. It stands in a larger one, of which it sees but one place, "outside": from there
something comes, and there something goes. To whoever is outside, the graph is a node like any other, and all that has
to be known of it there is what becomes of a time on the way through.

`summarize(steps)` gives, for each place from which a path leads outside, the set of the least summaries of such paths.
A summary `q` is left out if there is another, `p`, that never gives a later time (`p <= q`, as in 9.3); two may both be
least. For "outside" itself it gives those of the paths that come in and go out again. A path ends as it comes outside
for the first time: what is done there with what it brings is not the graph's.

`first.followed_by(then)` puts paths together, and `pullstream.timely.order.minimal` gives the least of some summaries,
too.
"""


def summarize(steps):
    return {start: {summary} for start, end, summary in steps if end == "outside"}  # only those of one step
