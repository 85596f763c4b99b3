# wrong: values
"""It keeps the last number of a time, not the largest."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    known = dict(state)
    if isinstance(event, Received):
        known[event.time] = event.message.body
        return Reaction(frozenset(known.items()), frozenset({event.time}))
    largest = known.pop(event.time)
    return Reaction(frozenset(known.items()), sends={"out": (Message(event.time, largest),)})
