"""13.2 A run, written down for the model.

`record(moves)` gives a run of 8.1, `numbers -> largest -> sink`, as a list of events which the model judges. There is
one node for each of the first two, and an edge out of each, "in" and "out"; `numbers` may answer at 0 and later, as it
begins. What the moves are, each a tuple of a word and a time:

    ("answers", t)    `numbers` has a batch at t for `largest`; from now on it answers nothing earlier
    ("notify_at", t)  `largest`, with a batch at t in its hands, asks to be told when t is complete
    ("asks", t)       `largest` asks for more: it is done with a batch at t
    ("ends", t)       `numbers` has no more; t is the last time that it was at
    ("told", t)       `largest` is told that t is complete
    ("largest", t)    it answers at t, which it will not do again
    ("stored", t)     the sink is done with that
    ("rests", None)   nothing more happens by itself

And what can be written, in the order in which it is true: `Sent(edge, t)`, `Taken(edge, t)`, `Held(node, t)`,
`Released(node, t)`, `Awaited(edge, t)`, `Completed(edge, t)`, `Settled()`.
"""

from pullstream.timely.theory.model import Awaited, Completed, Held, Released, Sent, Settled, Taken  # noqa: F401 - for you to use


def record(moves):
    events = []
    for what, time in moves:
        match what:
            case "answers":
                events.append(Sent("in", time))  # is that all that has changed?
            case "asks":
                events.append(Taken("in", time))
    return events
