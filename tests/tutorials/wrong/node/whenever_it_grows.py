# wrong: early
"""It sends whenever a larger number arrives."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = frozenset()


def react(state, event):
    known = dict(state)
    if not isinstance(event, Received) or event.message.body <= known.get(event.time, 0):
        return Reaction(state)
    known[event.time] = event.message.body
    return Reaction(frozenset(known.items()), sends={"out": (event.message,)})
