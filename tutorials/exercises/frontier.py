"""10.2 What can still come?

A graph is a set of steps as in 10.1; `summary.results_in(time)` is the time after a step. `counts` says what is pending
in the graph: the number of messages and rights to send at each place and time.

    {("numbers", 1): 1, ("body", LoopTime(0, (2,))): 1, ("body", LoopTime(0, (1,))): 0}

`frontier(steps, counts)` returns, for each place that anything can reach, the set of the minimal times at which
something may come: those that no other time is before. Times are partially ordered: LoopTime(0, (3,)) and LoopTime(1,
(0,)) may both be minimal. A pending message counts for its own place, too. A count may be 0, or negative while updates
are still on their way; then nothing is pending there. Every cycle advances. `pullstream.timely.order.minimal` returns
the minimal elements of some times.
"""


def frontier(steps, counts):
    return {place: {time} for place, time in counts}  # and from other places?
