# wrong: past
"""It requests a notification for the time before: this violates Condition 1."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    known = dict(state)
    if isinstance(event, Received):
        known[event.time] = max(known.get(event.time, event.message.body), event.message.body)
        return Reaction(frozenset(known.items()), frozenset({max(0, event.time - 1)}))
    largest = known.pop(event.time)
    return Reaction(frozenset(known.items()), sends={"out": (Message(event.time, largest),)})
