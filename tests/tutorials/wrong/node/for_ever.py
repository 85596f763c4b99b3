# wrong: bound
"""At every notification it requests another one."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    known = dict(state)
    if isinstance(event, Received):
        known[event.time] = max(known.get(event.time, event.message.body), event.message.body)
        return Reaction(frozenset(known.items()), frozenset({event.time}))
    largest = known[event.time]
    return Reaction(state, frozenset({event.time}), {"out": (Message(event.time, largest),)})
