"""13.2 A run, recorded for the model.

`record(moves)` turns a run of 8.1, `numbers -> largest -> sink`, into a list of events that the model judges. The first
two are nodes, each with an outgoing edge, "in" and "out". At the start `numbers` may answer at 0 and later. Each move
is a tuple of a word and a time:

    ("answers", t)    `numbers` has a batch at t for `largest`; from now on it answers nothing earlier
    ("notify_at", t)  `largest`, with a batch at t as its current one, requests a notification when t is complete
    ("asks", t)       `largest` asks for more, which acknowledges a batch at t
    ("ends", t)       `numbers` has no more; t is its last time
    ("notified", t)   `largest` is notified that t is complete
    ("largest", t)    it answers at t, for the only time
    ("stored", t)     the sink has processed that
    ("rests", None)   nothing more happens by itself

Record these events, in the order in which they become true: `Sent(edge, t)`, `Taken(edge, t)`, `Held(node, t)`,
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
