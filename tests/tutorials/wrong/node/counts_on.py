# wrong: bound
"""It keeps everything that has ever arrived, so the number of states has no limit."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = ()


def react(state, event):
    if isinstance(event, Received):
        return Reaction((*state, event.message), frozenset({event.time}))
    largest = max(message.body for message in state if message.time == event.time)
    return Reaction(state, sends={"out": (Message(event.time, largest),)})
