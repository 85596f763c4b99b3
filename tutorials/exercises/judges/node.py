"""The judge of `react`: explores every behaviour of a program with that node, with the model's own explorer."""

from collections import defaultdict
from itertools import product

from pullstream.timely.theory.model import (
    CouldResultIn,
    Edge,
    Explorer,
    Machine,
    Message,
    ModelGraph,
    Node,
    Notified,
    Program,
    Reaction,
    Received,
    Step,
)
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Read sections 13.1 and 13.2.",
        "What must the node know when it is notified that a time is complete? Where is that stored?",
        "Keep pairs (time, largest) in the state, request the message's time, and when notified, send and delete.",
    ),
    "past": (
        "Read section 13.4.",
        "The past is closed: no request and no message may be before the event.",
        "Request `event.time`, and send at `event.time`.",
    ),
    "bound": (
        "Read section 13.3.",
        "The node never ends. What keeps growing, or is requested again and again?",
        "When notified, request nothing, and remove that time from the state.",
    ),
    "domain": (
        "Read section 13.1.",
        "Times must be of one kind, so that they can be compared. What is yours?",
        "`Message(event.time, largest)`: the time is the event's, and the number is the body.",
    ),
    "early": (
        "Read section 13.2.",
        "A number was sent while a larger one could still come.",
        "Send when notified that the time is complete, not before.",
    ),
}

TIMES = (0, 1, 2)
NUMBERS = (1, 2)
GRAPH = ModelGraph(("largest",), (Edge("in", destination="largest"), Edge("out", "largest")))
MOST = 200
"""The number of states that the node may have; a number for each time needs far fewer."""

INPUTS = ([(0, 1)], [(0, 1), (0, 2)], [(0, 2), (0, 1)], [(1, 1), (0, 2), (1, 2)], [(2, 1), (0, 1), (0, 2), (2, 2)])


def judge(answer, seeds):
    """Judge an answer."""
    react, start = answer["react"], answer["START"]
    _keeps_the_conditions(react, start)
    messages = tuple(Message(time, number) for time, number in product(TIMES, NUMBERS))
    node = Node(frozenset({(start, frozenset())}), react)
    program = Program(GRAPH, {"largest": node}, TIMES, messages)
    # By now we know that it sends at the time of the event, so no other step is possible.
    leads = CouldResultIn(GRAPH, TIMES, [Step("largest", time, "out", time) for time in TIMES])
    for came in INPUTS:
        _goes_well(Machine(program, leads, reordering=True), came)


def _keeps_the_conditions(react, start):
    """Check that in no state an event leads to an earlier request or message (Conditions 1 and 2)."""
    todo, known = [(start, frozenset())], set()
    while todo:
        state, pending = todo.pop()
        if (state, pending) in known:
            continue
        known.add((state, pending))
        if len(known) > MOST:
            raise Wrong("bound", f"the node has more than {MOST} states, for example {shortened(state)}")
        events = [Received("in", Message(time, number)) for time, number in product(TIMES, NUMBERS)]
        for event in [*events, *map(Notified, sorted(pending))]:
            reaction = react(state, event)
            _is_a_reaction(reaction, state, event)
            asked = pending - {event.time} if isinstance(event, Notified) else pending
            todo.append((reaction.state, asked | reaction.requests))


def _is_a_reaction(reaction, state, event):
    happened = f"in the state {shortened(state)}, when {_told(event)}, it"
    if not isinstance(reaction, Reaction):
        raise Wrong("values", f"{happened} returns {reaction!r}; return a Reaction")
    for edge, messages in reaction.sends.items():
        if edge != "out":
            raise Wrong("values", f"{happened} sends on {edge!r}: the edge is called 'out'")
        for message in messages:
            _is_a_time(message.time, event, f"{happened} sends a message at")
    for time in reaction.requests:
        _is_a_time(time, event, f"{happened} requests")


def _is_a_time(time, event, happened):
    if time not in TIMES:
        raise Wrong("domain", f"{happened} {time!r}, and times are {', '.join(map(str, TIMES))}")
    if time < event.time:
        raise Wrong("past", f"{happened} {time}")


def _goes_well(machine, came):
    """Check that every order of events ends with the largest value of each time."""
    (start,) = machine.initial({"in": [Message(*each) for each in came]})

    def inside(state):
        yield from machine.receipts(state)
        yield from machine.notifications(state, machine.clock(state))

    wanted = {}
    for time, number in came:
        wanted[time] = max(number, wanted.get(time, number))
    ways = {start: ()}
    after = defaultdict(set)
    explored = Explorer([start], inside, depth=len(came) * 4, max_states=5_000)
    for step in explored:
        ways.setdefault(step.after, (*ways[step.before], step.action.event))
        after[step.before].add(step.after)
    if not explored.complete:
        way = max(ways.values(), key=len)
        raise Wrong("bound", f"it does not end: {_way(way)}, and so on")
    for state, way in ways.items():
        if after[state]:
            continue
        sent = [(message.time, message.body) for message in state.queues[1]]
        if sorted(sent) != sorted(wanted.items()):
            early = len(sent) > len(wanted) and set(wanted.items()) <= set(sent)
            should = _pairs(sorted(wanted.items()))
            raise Wrong(
                "early" if early else "values",
                f"{_way(way)}; it has sent {_pairs(sent)}, and should have sent {should}",
            )


def _way(way):
    return ", then ".join(map(_told, way)) or "nothing happens"


def _told(event):
    if isinstance(event, Notified):
        return f"{event.time} is complete"
    return f"{event.message.body} comes at {event.time}"


def shortened(state):
    """Return a state as text that fits a line."""
    text = repr(state)
    return text if len(text) < 70 else f"{text[:70]}..."


def _pairs(pairs):
    return ", ".join(f"{number} at {time}" for time, number in pairs) or "nothing"
