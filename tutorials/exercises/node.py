"""13.1 The largest of each time, as a node of the model.

`react(state, event)` is what Abadi and Isard call g1 (source 000 of `tutorials/literature.md`): a function of a node's
state and an event. For each time, the node sends the largest of the numbers received at it, once, when the time is
complete. Two times may be open at once.

    Received(edge, message)           an event: a message was taken, with message.time and message.body, a number
    Notified(time)                    an event: a requested time is complete
    Reaction(state, requests, sends)  the next state; the times for which to request a notification, a frozenset; the
                                      messages to send: {"out": (Message(time, body),)}

`START` is the first state. A state must never be changed, and must be hashable, as tuples and frozensets are: the judge
explores everything that could happen, and stores many states.
"""

from pullstream.timely.theory.model import Message, Notified, Reaction, Received  # noqa: F401 - for you to use

START = ()


def react(state, event):
    if isinstance(event, Received):
        return Reaction(state, sends={"out": (event.message,)})  # before it is known to be the largest?
    return Reaction(state)
