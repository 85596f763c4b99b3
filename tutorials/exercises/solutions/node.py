"""13.1 The largest of each time, as a node of the model: the state is pairs of a time and its largest value."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    """Store the largest value of each time; when the time is complete, send it and delete it."""
    known = dict(state)
    if isinstance(event, Received):
        known[event.time] = max(known.get(event.time, event.message.body), event.message.body)
        return Reaction(frozenset(known.items()), frozenset({event.time}))
    largest = known.pop(event.time)
    return Reaction(frozenset(known.items()), sends={"out": (Message(event.time, largest),)})
