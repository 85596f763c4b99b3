"""A tuple with a place for each time, 0 for none."""

from pullstream.timely.theory.model import Message, Notified, Reaction

START = (0, 0, 0)


def react(state, event):
    time = event.time
    before, after = state[:time], state[time + 1 :]
    if isinstance(event, Notified):
        return Reaction((*before, 0, *after), frozenset(), {"out": (Message(time, state[time]),)})
    return Reaction((*before, max(state[time], event.message.body), *after), frozenset({time}))
