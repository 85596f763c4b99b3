"""A set of what has come, of which the largest is found at the end."""

from pullstream.timely.theory.model import Message, Notified, Reaction

START = frozenset()


def react(state, event):
    if isinstance(event, Notified):
        largest = max(body for time, body in state if time == event.time)
        rest = frozenset(pair for pair in state if pair[0] != event.time)
        return Reaction(rest, sends={"out": (Message(event.time, largest),)})
    return Reaction(state | {(event.time, event.message.body)}, frozenset({event.time}))
