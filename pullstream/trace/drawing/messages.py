"""The messages of an edge, or of both sides of a module, in the specification's notation, for drawing."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast

import attrs

from pullstream.history.events import REQUESTS, Act
from pullstream.trace.file import Trace
from pullstream.trace.times import Json, time_text

ANSWERS = frozenset(act.value for act in Act if act not in REQUESTS)
"""The kinds of events that go downstream."""

MESSAGES = frozenset(act.value for act in Act)
"""The kinds of events on an edge."""


@attrs.frozen
class Message:
    """A message between two modules, which are given by the numbers of their lifelines.

    A message from a module to itself is a note of an event there.
    """

    sender: int
    receiver: int
    words: str
    answer: bool
    offence: str = ""
    """The rule it breaks, and how; "" if it breaks none."""


def worded(kind: str, about: Sequence[Json], mark: str = "") -> str:
    """Return a short text for an event, without its edge; `mark` distinguishes the edge's requests.

    >>> worded("ask", [0, 2, 1]), worded("value", [0, 2, 1, 0, ["'a'"]]), worded("value", [1, 3, 9, 5, ["1", "2", "3"]])
    ('ask2', "Ans2=value('a')", 'Ans3=value(1, 2, 3, … 9 in all) at 5, lane 1')
    """
    lane, request, *rest = about
    number = f"{mark}{request}"
    where = f", lane {lane}" if lane else ""
    match kind:
        case "ask":
            limit = "" if rest[0] == 1 else f" of {rest[0]}"
            return f"ask{number}{limit}{where}"
        case "abort" | "abort soon":
            return f"abort{number}{where}"
        case "error" | "error soon":
            return f"error{number}({rest[0]}){where}"
        case "ack":
            return f"ack{where}"
        case "value":
            count, time, values = rest
            more = "" if count <= len(values) else f", … {count} in all"
            at = "" if time == 0 else f" at {_times(time)}"
            return f"Ans{number}=value({', '.join(values)}{more}){at}{where}"
        case "failed":
            return f"Ans{number}=error({rest[0]}){where}" if rest else f"Ans{number}=error{where}"
        case _:
            return f"Ans{number}={kind}{where}"


def _times(time: Json) -> str:
    return ", ".join(map(time_text, times_of(time)))


def times_of(time: Json) -> list[Json]:
    """Return the encoded times of an answer's first values: one, or several for a multi-time answer."""
    return list(cast("dict[str, Any]", time)["times"]) if isinstance(time, dict) and "times" in time else [time]


def messages_of(trace: Trace, edges: Sequence[int], notes: Collection[str] = ()) -> list[Message]:
    """Return the messages on a row of edges: the first is between lifelines 0 and 1, the next between 1 and 2.

    `notes` are further kinds of events to show where they happen: "acquired", "released", "stamps", "completed".

    >>> import io, pullstream as ps
    >>> file = io.StringIO()
    >>> result = ps.run(ps.pipe(ps.values("a"), ps.collect()), limit=1, trace=file)
    >>> [message.words for message in messages_of(Trace.of(file.getvalue().splitlines()), [0])]
    ['ask1', "Ans1=value('a')", 'ask2', 'Ans2=done']
    """
    level = {edge: number for number, edge in enumerate(edges)}
    described = {edge["id"]: edge for edge in trace.header["edges"]}
    chain = [described[edge] for edge in edges]
    lives: dict[int, int] = {edge["from"]: number for number, edge in enumerate(chain, 1)}
    places: dict[int, int] = {edge["place"]: number for number, edge in enumerate(chain)}
    found: list[Message] = []
    for event in trace.events:
        kind, about = event[2], event[3:]
        if kind == "violation":
            if found:
                found[-1] = attrs.evolve(found[-1], offence=f"{about[1]}: {about[2]}")
        elif kind in MESSAGES and about[0] in level:
            below = level[about[0]]
            answer = kind in ANSWERS
            sender, receiver = (below + 1, below) if answer else (below, below + 1)
            found.append(Message(sender, receiver, worded(kind, about[1:], "T" * below), answer))
        elif kind in notes:
            found += [Message(life, life, words, answer=False) for life, words in _notes(kind, about, lives, places)]
    return found


def _notes(
    kind: str, about: Sequence[Json], lives: Mapping[int, int], places: Mapping[int, int]
) -> Iterator[tuple[int, str]]:
    """Yield the lifelines at which an event is shown, with its text."""
    if kind in {"acquired", "released"} and about[0] in lives:
        yield lives[about[0]], kind
    elif kind == "completed" and about[0] in places:
        yield places[about[0]], f"{time_text(about[1])} is complete"
    elif kind == "stamps":
        for place, time, delta in about[0]:
            if place in places:
                yield places[place], f"{time_text(time)} {'in flight' if delta > 0 else 'acknowledged'}"


def lifelines(trace: Trace, module: str) -> tuple[list[int], list[str]]:
    """Return the edges of a module and their modules' names, from the sink's side; raises LookupError if none."""
    names = trace.modules
    if module not in names:
        raise LookupError(f"no module of this run is named {module!r}; its modules: {', '.join(map(repr, names))}")
    node = names.index(module)
    edges: list[dict[str, Any]] = [edge for edge in trace.header["edges"] if "place" in edge]
    below = [edge for edge in edges if edge["from"] == node][:1]
    above = [edge for edge in edges if edge["to"] == node][:1]
    chain = [*below, *above]
    if not chain:
        raise LookupError(f"{module!r} has no edge in this trace")
    nodes: list[int] = [chain[0]["to"], *(edge["from"] for edge in chain)]
    return [edge["id"] for edge in chain], [names[each] for each in nodes]
