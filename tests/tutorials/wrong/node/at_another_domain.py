# wrong: domain
"""It answers at a time of another domain."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    known = dict(state)
    if isinstance(event, Received):
        known[event.time] = max(known.get(event.time, event.message.body), event.message.body)
        return Reaction(frozenset(known.items()), frozenset({event.time}))
    largest = known.pop(event.time)
    return Reaction(frozenset(known.items()), sends={"out": (Message(("largest", event.time), largest),)})
