"""10.1 Does every cycle advance?

A graph is a set of steps, `(start, end, summary)`: what is at `start` may lead to something at `end`, and the summary
says what becomes of its time. `IDENTITY` does nothing, and the judge writes it 1; `ENTER`, `FEEDBACK` and `LEAVE` are
i, f and e of chapter 9.
`first.followed_by(then)` is the summary of one path after another, in normal form; `summary.up` is how many loops a
path leaves first, `summary.down` how many it enters after, and `summary.strict` whether there is an f between.

A cycle is a path that comes back to where it began, however often it passes a place. It advances if its summary is
strict: then what goes round comes back later, in the outermost of the loops that it is in. If it does not, a message
may go round at one time for ever, and no time after it is ever complete.

`find_cycles(steps)` gives the steps, each as `(start, end)`, that lie on a cycle that does not advance. Loops nest: all
paths between two places leave and enter so many loops that they end equally deep.
"""

from pullstream.timely import IDENTITY


def find_cycles(steps):
    # As it was published, less the loop around it: is this what the task says?
    kept = {(start, end) for start, end, summary in steps if summary != IDENTITY}
    return {(start, end) for start, end in kept if start in {end for _, end in kept}}
