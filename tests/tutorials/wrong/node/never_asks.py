# wrong: values
"""It waits for a notification that it has not requested."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    known = dict(state)
    if isinstance(event, Received):
        known[event.time] = max(known.get(event.time, 0), event.message.body)
        return Reaction(frozenset(known.items()))
    largest = known.pop(event.time)
    return Reaction(frozenset(known.items()), sends={"out": (Message(event.time, largest),)})
