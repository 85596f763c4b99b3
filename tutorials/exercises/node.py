"""13.1 The largest of each time, as a node of the model.

`react(state, event)` is what 000 calls g1: a function of a node's state and of an event. The node gives for each time
the largest of the numbers that have come at it, once, when the time is complete. Two times may be open side by side.

    Received(edge, message)           an event: a message was taken, with message.time and message.body, a number
    Notified(time)                    an event: a time that was asked for is complete
    Reaction(state, requests, sends)  the next state; the times at which the node asks to be told, a frozenset; what it
                                      sends: {"out": (Message(time, body),)}

`START` is the state at first. A state is never changed, and can be hashed, as tuples and frozensets are: the judge goes
through everything that could happen, and keeps many.
"""

from pullstream.timely.theory.model import Message, Notified, Reaction, Received  # noqa: F401 - for you to use

START = ()


def react(state, event):
    if isinstance(event, Received):
        return Reaction(state, sends={"out": (event.message,)})  # before it is known to be the largest?
    return Reaction(state)
