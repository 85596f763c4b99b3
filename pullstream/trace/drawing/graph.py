"""The graph of a run: its modules from the sources down, with times held, in flight and still to come at each step."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from pullstream.trace.drawing.layout import BOX, GAP, HEIGHT, LABEL, Frame, Layout, Way, layout_of
from pullstream.trace.drawing.svg import drawing, element, letters, line, short, short_name, text
from pullstream.trace.file import Trace
from pullstream.trace.times import Json, time_text

NOTHING: Final[Counter[str]] = Counter()


@attrs.frozen
class StateAt:
    """The pointstamps of each place, as text with counts, and the frontier of each place where it is known."""

    stamps: dict[int, Counter[str]]
    frontiers: dict[int, list[str]]


def state_at(trace: Trace, step: int | None = None) -> StateAt:
    """Return the state after event number `step`; by default at the end.

    Times with equal encodings count as one.
    """
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    words: dict[str, str] = {}
    frontiers: dict[int, list[str]] = {}
    for place, time in trace.header["plan"]["initial"]:
        counts[place][_key(time, words)] += 1
    for number, _, kind, *about in trace.events:
        if step is not None and number > step:
            break
        if kind == "stamps":
            for place, time, delta in about[0]:
                counts[place][_key(time, words)] += delta
        elif kind == "frontiers":
            frontiers.update({place: [time_text(time) for time in times] for place, times in about[0]})
    stamps = {
        place: Counter({words[key]: count for key, count in found.items() if count > 0})
        for place, found in counts.items()
    }
    return StateAt(stamps, frontiers)


def _key(time: Json, words: dict[str, str]) -> str:
    key = json.dumps(time)
    words[key] = time_text(time)
    return key


def draw_graph(trace: Trace, step: int | None = None, title: str | None = None) -> str:
    """Draw the graph of a run as SVG, with its state at a step of the trace, by default at the end.

    Each module shows its frontier, the times that may still leave it, and below it the times it holds; each edge shows
    the values in flight.
    """
    header = trace.header
    layout, state = layout_of(header), state_at(trace, step)
    names = {module["id"]: module["name"] for module in header["modules"]}
    notes = {module["id"]: "; ".join(module["notes"]) for module in header["modules"] if "notes" in module}
    output = {place["module"]: place["id"] for place in header["places"] if place["input"] is None}
    starts = {way.start for way in layout.lines}
    begins = {one["id"]: one["begins"] for one in header["modules"] if "begins" in one and one["id"] in starts}
    parts = [_frame(layout, frame) for frame in layout.frames]
    description: list[str] = []
    for node, words in begins.items():
        x, y = layout.boxes[node]
        name = short(names[node], BOX + GAP - 6.4 * len(words), 6.4)
        parts.append(text(x, y + HEIGHT / 2 + LABEL - 8, name + words, "small", "middle"))
        description.append(f"below {names[node]}: {names[node]}{words}")
    for way in layout.lines:
        parts.append(_line(layout, way, says=way.start in begins))
        flight = _counted(state, way.place)
        if flight:
            parts.append(_on_edge(layout, way, flight))
            description.append(f"in flight to {names[way.end]}: {flight}")
    for node, (x, y) in layout.boxes.items():
        place = output[node]
        front, held = notes.get(node, _front(state, place)), _counted(state, place)
        parts.append(_box(x, y, names[node], front))
        if held:
            beside, before = layout.holds[node]
            parts.append(_chip(beside, y + HEIGHT / 2 + 4, f"holds {held}", "hold", before=before))
        description.append(": ".join(filter(None, (names[node], front))) + (f", holds {held}" if held else ""))
    when = "at the end" if step is None else f"after event {step}"
    title = title or ("The graph of a pipeline" if notes else f"The graph of the run, {when}")
    return drawing(layout.width, layout.height, title, "; ".join(description), parts)


def _front(state: StateAt, place: int) -> str:
    times = state.frontiers.get(place)
    if times is None:
        return "not begun"
    return f"from {', '.join(times)}" if times else "nothing more"


def _counted(state: StateAt, place: int) -> str:
    return ", ".join(
        time if count == 1 else f"{time} ×{count}" for time, count in state.stamps.get(place, NOTHING).items()
    )


def _box(x: float, y: float, name: str, front: str) -> str:
    room, rows = BOX - 12, [front] if front else []
    if letters(front) * 6.7 > room and ", " in front:
        # Two times get a line each.
        rows = front.split(", ", 1)
    return element(
        "g",
        [
            element("rect", x=x - BOX / 2, y=y - HEIGHT / 2, width=BOX, height=HEIGHT, rx=7, class_="box"),
            text(x, y + (4, -5, -8)[len(rows)], short_name(name, room), "name", "middle"),
            *(
                text(x, y + 12 * number + (2 if len(rows) == 1 else -6), short(row, room), "small", "middle")
                for number, row in enumerate(rows, 1)
            ),
        ],
    )


def _chip(x: float, y: float, words: str, kind: str, *, before: bool = False) -> str:
    shown = short(words, 140, 6.4)
    width = 12 + 6.4 * letters(shown)
    x -= width if before else 0
    return element("rect", x=x, y=y, width=width, height=18, rx=9, class_=kind) + text(x + 6, y + 13, shown, "small")


def _frame(layout: Layout, frame: Frame) -> str:
    around = element("rect", x=frame.left, y=frame.top, width=frame.width, height=frame.height, rx=12, class_="frame")
    title = text(frame.left + 10, frame.top + 16, frame.title, "small soft")
    if frame.beside is None:
        return around + title
    _, y = layout.boxes[frame.beside]
    return line(frame.left - 2 * GAP, y, frame.left, y, "line answer") + around + title


def _line(layout: Layout, way: Way, *, says: bool) -> str:
    (x1, y1), (x2, y2) = layout.boxes[way.start], layout.boxes[way.end]
    if way.side is None:
        top, bottom, half = y1 + HEIGHT / 2, y2 - HEIGHT / 2, (way.leave + way.enter) / 2
        down = f"V{way.leave:.0f}" if way.leave != top else ""
        if says:
            # The line has a gap for its label, because a drawing does not know the background.
            down = f"V{top + 8:.0f}M{x1:.0f} {top + LABEL - 4:.0f}{down}"
        curve = f"C{x1:.0f} {half:.0f} {x2:.0f} {half:.0f} {x2:.0f}"
        ends = f"{curve} {bottom - 6:.0f}" if way.enter == bottom else f"{curve} {way.enter - 6:.0f}V{bottom - 6:.0f}"
        path, head = f"M{x1:.0f} {top:.0f}{down}{ends}", f"M{x2:.0f} {bottom:.0f}l-4 -7h8z"
        return element("path", d=path, class_="line") + element("path", d=head, class_="head")
    # Half-way round, the line is at the side, past everything in between.
    out = (8 * way.side - x1 - x2 - BOX) / 6
    path = f"M{x1 + BOX / 2:.0f} {y1:.0f}C{out:.0f} {y1:.0f} {out:.0f} {y2:.0f} {x2 + BOX / 2 + 6:.0f} {y2:.0f}"
    head = f"M{x2 + BOX / 2:.0f} {y2:.0f}l7 -4v8z"
    return element("path", d=path, class_="line answer") + element("path", d=head, class_="head")


def _on_edge(layout: Layout, way: Way, words: str) -> str:
    (x1, y1), (x2, y2) = layout.boxes[way.start], layout.boxes[way.end]
    # Nearer to its end, where lines to the same module are still apart.
    x, y = x1 + 0.7 * (x2 - x1) + 6, y2 - HEIGHT / 2 - 26
    if way.side is not None:
        x, y = way.side - 86, (y1 + y2) / 2 - 9
    return _chip(x, y, words, "flight")


def mermaid(trace: Trace) -> str:
    """Return the graph of a run as a Mermaid flowchart; edges that lead back are dotted.

    >>> import io, pullstream as ps
    >>> file = io.StringIO()
    >>> result = ps.run(ps.pipe(ps.values("a"), ps.map(str.upper), ps.collect()), trace=file)
    >>> print(mermaid(Trace.of(file.getvalue().splitlines())))
    flowchart TD
        m0["values"]
        m1["map"]
        m2["collect"]
        m0 --> m1
        m1 --> m2
    """
    header = trace.header
    boxes: dict[int, str] = {
        module["id"]: f'm{module["id"]}["{"<br>".join(map(_escaped, (module["name"], *module.get("notes", ()))))}"]'
        for module in header["modules"]
    }
    frames: Sequence[dict[str, Any]] = header.get("frames", ())
    framed = {node for frame in frames for node in frame["modules"]}

    def around(number: int) -> Iterator[str]:
        yield f'subgraph f{number}["{_escaped(frames[number]["title"])}"]'
        yield from (f"    {boxes[node]}" for node in frames[number]["modules"])
        for inner, frame in enumerate(frames):
            if frame["within"] == number:
                yield from (f"    {line}" for line in around(inner))
        yield "end"

    rows = [box for node, box in boxes.items() if node not in framed]
    for number, frame in enumerate(frames):
        if frame["within"] is None:
            rows += around(number)
    rows += [f"m{frame['beside']} -.- f{number}" for number, frame in enumerate(frames) if frame["beside"] is not None]
    ways = layout_of(header).lines
    begins = {one["id"]: f'|"{_escaped(one["name"] + one["begins"])}"|' for one in header["modules"] if "begins" in one}
    for way in ways:
        rows.append(f"m{way.start} {'-->' if way.side is None else '-.->'}{begins.get(way.start, '')} m{way.end}")
    return "\n".join(("flowchart TD", *(f"    {row}" for row in rows)))


def _escaped(name: str) -> str:
    # Mermaid's escapes for characters that would end a label, or begin an element in it.
    return name.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")
