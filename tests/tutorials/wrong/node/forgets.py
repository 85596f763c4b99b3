# wrong: values
"""It forgets its state of one time when a message of another time arrives."""

from pullstream.timely.theory.model import Message, Reaction, Received

START = (0, 0)


def react(state, event):
    time, largest = state
    if isinstance(event, Received):
        number = event.message.body
        largest = max(largest, number) if event.time == time else number
        return Reaction((event.time, largest), frozenset({event.time}))
    return Reaction(state, sends={"out": (Message(event.time, largest),)})
