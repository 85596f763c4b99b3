"""10.1 Does every cycle advance?

A graph is a set of steps, `(start, end, summary)`: a message at `start` may lead to one at `end`, and the summary says
how its time changes. `IDENTITY` does nothing, and the judge writes it 1; `ENTER`, `FEEDBACK` and `LEAVE` are i, f and e
of chapter 9. `first.followed_by(then)` is the summary of one path after another, in normal form. `summary.up` is the
number of loops that a path leaves first, `summary.down` the number that it enters afterwards, and `summary.strict` says
whether there is an f between.

A cycle is a path that returns to its start; it may pass a place more than once. It advances if its summary is strict:
then messages come back later, in the outermost loop of the cycle. If it does not advance, a message may go round at one
time forever, and no later time is ever complete.

`find_cycles(steps)` returns the steps, each as `(start, end)`, that lie on a cycle that does not advance. Loops nest:
all paths between two places end equally deep.
"""

from pullstream.timely import IDENTITY


def find_cycles(steps):
    # As published, without the loop around it: does it do what the task says?
    kept = {(start, end) for start, end, summary in steps if summary != IDENTITY}
    return {(start, end) for start, end in kept if start in {end for _, end in kept}}
