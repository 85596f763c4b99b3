"""10.2 What can still come?

A graph is a set of steps as in 10.1; `summary.results_in(time)` is what becomes of a time. `counts` says what there is
in the graph: how often something, a message or the right to send one, is at a place at a time.

    {("numbers", 1): 1, ("body", LoopTime(0, (2,))): 1, ("body", LoopTime(0, (1,))): 0}

`frontier(steps, counts)` gives for each place that anything can reach the set of the least times that it may come with:
those that none of the others is before. Times are partly ordered: LoopTime(0, (3,)) and LoopTime(1, (0,)) are both
least. What there is counts for its own place, too. A count may be 0, or, while news of what happened is on its way,
less than that: then nothing is there. Every cycle advances. `pullstream.timely.order.minimal` gives the least of some
times.
"""


def frontier(steps, counts):
    return {place: {time} for place, time in counts}  # and what can come there from elsewhere?
