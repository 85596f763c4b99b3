"""What is asked of `react`: every behaviour of a program with that node, by the model's own explorer."""

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
        "Chapter 13, pieces 1 and 2.",
        "What does the node have to know when it is told that a time is complete? Where does it know that from?",
        "Keep pairs (time, largest) in the state; ask to be told of the message's time; when told, send, and forget.",
    ),
    "past": (
        "Chapter 13, piece 4.",
        "The past is closed: what others rely upon is that no request and no message is before the event.",
        "Ask for `event.time`, and send at `event.time`.",
    ),
    "bound": (
        "Chapter 13, piece 3.",
        "There is always something more to come. What goes on growing, or is asked for again and again?",
        "When told, ask for nothing, and take out of the state what belongs to that time.",
    ),
    "domain": (
        "Chapter 13, piece 1.",
        "What others compare are times of one kind. What is yours?",
        "`Message(event.time, largest)`: the time is the event's, and the number is the body.",
    ),
    "early": (
        "Chapter 13, piece 2.",
        "A number was sent while a larger one could still come.",
        "Send when told that the time is complete, and not sooner.",
    ),
}

TIMES = (0, 1, 2)
NUMBERS = (1, 2)
GRAPH = ModelGraph(("largest",), (Edge("in", destination="largest"), Edge("out", "largest")))
MOST = 200
"""How many states the node may have: there are far fewer ways to keep a number for each time."""

INPUTS = ([(0, 1)], [(0, 1), (0, 2)], [(0, 2), (0, 1)], [(1, 1), (0, 2), (1, 2)], [(2, 1), (0, 1), (0, 2), (2, 2)])


def judge(answer, seeds):
    """Judge an answer."""
    react, start = answer["react"], answer["START"]
    _keeps_the_conditions(react, start)
    messages = tuple(Message(time, number) for time, number in product(TIMES, NUMBERS))
    node = Node(frozenset({(start, frozenset())}), react)
    program = Program(GRAPH, {"largest": node}, TIMES, messages)
    # It sends at the time of the event, as is known by now: no other step need be reckoned with.
    leads = CouldResultIn(GRAPH, TIMES, [Step("largest", time, "out", time) for time in TIMES])
    for came in INPUTS:
        _goes_well(Machine(program, leads, reordering=True), came)


def _keeps_the_conditions(react, start):
    """Whether, in whichever state, no event leads to a request or a message before it (Conditions 1 and 2)."""
    todo, known = [(start, frozenset())], set()
    while todo:
        state, pending = todo.pop()
        if (state, pending) in known:
            continue
        known.add((state, pending))
        if len(known) > MOST:
            raise Wrong("bound", f"the node has more than {MOST} states, such as {shortened(state)}")
        events = [Received("in", Message(time, number)) for time, number in product(TIMES, NUMBERS)]
        for event in [*events, *map(Notified, sorted(pending))]:
            reaction = react(state, event)
            _is_a_reaction(reaction, state, event)
            asked = pending - {event.time} if isinstance(event, Notified) else pending
            todo.append((reaction.state, asked | reaction.requests))


def _is_a_reaction(reaction, state, event):
    happened = f"in the state {shortened(state)}, when {_told(event)}, it"
    if not isinstance(reaction, Reaction):
        raise Wrong("values", f"{happened} gives {reaction!r}, which is no Reaction")
    for edge, messages in reaction.sends.items():
        if edge != "out":
            raise Wrong("values", f"{happened} sends on {edge!r}: the edge is called 'out'")
        for message in messages:
            _is_a_time(message.time, event, f"{happened} sends a message at")
    for time in reaction.requests:
        _is_a_time(time, event, f"{happened} asks to be told of")


def _is_a_time(time, event, happened):
    if time not in TIMES:
        raise Wrong("domain", f"{happened} {time!r}, and times are {', '.join(map(str, TIMES))}")
    if time < event.time:
        raise Wrong("past", f"{happened} {time}")


def _goes_well(machine, came):
    """Whether each way that things can go ends with the largest of each time."""
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
        raise Wrong("bound", f"it does not come to its end: {_way(way)}, and so on")
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
    """A state, as far as it fits a line."""
    text = repr(state)
    return text if len(text) < 70 else f"{text[:70]}..."


def _pairs(pairs):
    return ", ".join(f"{number} at {time}" for time, number in pairs) or "nothing"
