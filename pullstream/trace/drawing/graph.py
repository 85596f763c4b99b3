"""The graph of a run: its modules from the sources down, and at each step what is held, in flight and still to come."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from pullstream.trace.drawing.state import StateAt, state_at
from pullstream.trace.drawing.svg import drawing, element, short, text
from pullstream.trace.file import Trace
from pullstream.trace.times import Json

BOX, HEIGHT, GAP, LEVEL, MARGIN = 136, 44, 12, 86, 6

NOTHING: Final[Counter[str]] = Counter()


@attrs.frozen
class Layout:
    """The places of boxes and lines, by module and by input."""

    width: float
    height: float
    boxes: Mapping[int, tuple[float, float]]
    """The middle of each module's box."""
    lines: Sequence[tuple[int, int, int, bool]]
    """For each edge: from which module, to which, into which place, and whether it leads back up."""
    holds: Mapping[int, tuple[float, bool]]
    """The place below each module where it is told what that holds, and whether it ends there, beside the line."""

    def as_json(self) -> Json:
        """The layout for a page."""
        return {
            "width": self.width,
            "height": self.height,
            "box": [BOX, HEIGHT],
            "boxes": {str(node): list(middle) for node, middle in self.boxes.items()},
            "lines": [list(line) for line in self.lines],
            "holds": {str(node): list(place) for node, place in self.holds.items()},
        }


def layout_of(header: Mapping[str, Json]) -> Layout:
    """Lay a graph out: every module below those it asks, in rows; what goes round in a loop leads back up."""
    module_of = {place["id"]: place["module"] for place in header["places"]}
    outputs = {place["id"] for place in header["places"] if place["input"] is None}
    edges = [(module_of[a], module_of[b], b) for a, b, _ in header["plan"]["steps"] if a in outputs]
    nodes: list[int] = [module["id"] for module in header["modules"]]
    back = _leading_back(nodes, edges)
    down = [edge for edge in edges if edge not in back]
    rows: dict[int, list[int]] = {}
    for node, level in _levels(nodes, down).items():
        rows.setdefault(level, []).append(node)
    turning = {start for start, _, _ in back}
    room = 20.0 if back else 0.0
    widest = max(map(len, rows.values()))
    inner = max(320.0 - 2 * room, widest * (BOX + GAP) - GAP + 2 * MARGIN)
    boxes: dict[int, tuple[float, float]] = {}

    def wanted(node: int) -> tuple[bool, float]:
        """Below what is above it, and what leads back on the side where it does."""
        above = [boxes[start][0] for start, end, _ in down if end == node]
        return node in turning, sum(above) / (len(above) or 1)

    for level, row in sorted(rows.items()):
        for number, node in enumerate(sorted(row, key=wanted)):
            x = room + inner * (2 * number + 1) / (2 * len(row))
            boxes[node] = (x, MARGIN + HEIGHT / 2 + level * LEVEL)
    height = 2 * MARGIN + HEIGHT + 26 + LEVEL * max(rows)
    lines = [(*edge, edge in back) for edge in edges]
    holds = {node: _beside(boxes, node, [end for start, end, _ in down if start == node]) for node in nodes}
    return Layout(inner + 2 * room, height, boxes, lines, holds)


def _beside(boxes: Mapping[int, tuple[float, float]], node: int, below: Sequence[int]) -> tuple[float, bool]:
    x = boxes[node][0]
    if not below:
        return x - BOX / 2, False
    # On the side from which the line turns away.
    return (x + 6, False) if boxes[below[0]][0] < x else (x - 6, True)


Line = tuple[int, int, int]


def _leading_back(nodes: Sequence[int], edges: Sequence[Line]) -> set[Line]:
    """The edges that close a cycle, on the way down from the sources."""
    back: set[Line] = set()
    seen: set[int] = set()
    under_way: set[int] = set()

    def visit(node: int) -> None:
        seen.add(node)
        under_way.add(node)
        for edge in edges:
            if edge[0] == node:
                if edge[1] in under_way:
                    back.add(edge)
                elif edge[1] not in seen:
                    visit(edge[1])
        under_way.discard(node)

    fed = {end for _, end, _ in edges}
    for node in sorted(nodes, key=lambda node: node in fed):
        if node not in seen:
            visit(node)
    return back


def _levels(nodes: Sequence[int], edges: Sequence[Line]) -> dict[int, int]:
    """The number of modules above each, by the longest way; sources stand right above what asks them."""
    levels = dict.fromkeys(nodes, 0)
    for _ in nodes:
        for start, end, _ in edges:
            levels[end] = max(levels[end], levels[start] + 1)
    fed = {end for _, end, _ in edges}
    below = {node: [levels[end] for start, end, _ in edges if start == node] for node in nodes if node not in fed}
    return levels | {node: min(found) - 1 for node, found in below.items() if found}


def draw_graph(trace: Trace, step: int | None = None, title: str | None = None) -> str:
    """Draw the graph of a run as SVG, with what is known at a step of its trace, by default at its end.

    In each module stands its frontier, the times that may still leave it, and below what it holds; on each edge stands
    what is in flight there.
    """
    header = trace.header
    layout, state = layout_of(header), state_at(trace, step)
    names = {module["id"]: module["name"] for module in header["modules"]}
    notes = {module["id"]: "; ".join(module["notes"]) for module in header["modules"] if "notes" in module}
    output = {place["module"]: place["id"] for place in header["places"] if place["input"] is None}
    parts: list[str] = []
    told: list[str] = []
    for start, end, place, back in layout.lines:
        parts.append(_line(layout, start, end, back=back))
        flight = _counted(state, place)
        if flight:
            parts.append(_on_edge(layout, start, end, flight, back=back))
            told.append(f"in flight to {names[end]}: {flight}")
    for node, (x, y) in layout.boxes.items():
        place = output[node]
        front, held = notes.get(node, _front(state, place)), _counted(state, place)
        parts.append(_box(x, y, names[node], front))
        if held:
            beside, before = layout.holds[node]
            parts.append(_chip(beside, y + HEIGHT / 2 + 4, f"holds {held}", "hold", before=before))
        told.append(": ".join(filter(None, (names[node], front))) + (f", holds {held}" if held else ""))
    when = "at the end" if step is None else f"after event {step}"
    title = title or ("The graph of a pipeline" if notes else f"The graph of the run, {when}")
    return drawing(layout.width, layout.height, title, "; ".join(told), parts)


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
    return element(
        "g",
        [
            element("rect", x=x - BOX / 2, y=y - HEIGHT / 2, width=BOX, height=HEIGHT, rx=7, class_="box"),
            text(x, y - 5 if front else y + 4, short(name, BOX - 12, 7.4), "name", "middle"),
            text(x, y + 14, short(front, BOX - 12), "small", "middle") if front else "",
        ],
    )


def _chip(x: float, y: float, words: str, kind: str, *, before: bool = False) -> str:
    shown = short(words, 140, 6.4)
    width = 12 + 6.4 * len(shown)
    x -= width if before else 0
    return element("rect", x=x, y=y, width=width, height=18, rx=9, class_=kind) + text(x + 6, y + 13, shown, "small")


def _line(layout: Layout, start: int, end: int, *, back: bool) -> str:
    (x1, y1), (x2, y2) = layout.boxes[start], layout.boxes[end]
    if not back:
        top, bottom, half = y1 + HEIGHT / 2, y2 - HEIGHT / 2, (y1 + y2) / 2
        path = f"M{x1:.0f} {top:.0f}C{x1:.0f} {half:.0f} {x2:.0f} {half:.0f} {x2:.0f} {bottom - 6:.0f}"
        head = f"M{x2:.0f} {bottom:.0f}l-4 -7h8z"
        return element("path", d=path, class_="line") + element("path", d=head, class_="head")
    side = layout.width - 4
    path = f"M{x1 + BOX / 2:.0f} {y1:.0f}C{side:.0f} {y1:.0f} {side:.0f} {y2:.0f} {x2 + BOX / 2 + 6:.0f} {y2:.0f}"
    head = f"M{x2 + BOX / 2:.0f} {y2:.0f}l7 -4v8z"
    return element("path", d=path, class_="line answer") + element("path", d=head, class_="head")


def _on_edge(layout: Layout, start: int, end: int, words: str, *, back: bool) -> str:
    (x1, y1), (x2, y2) = layout.boxes[start], layout.boxes[end]
    # Nearer to its end, where lines that come together are still apart.
    x, y = x1 + 0.7 * (x2 - x1) + 6, y2 - HEIGHT / 2 - 26
    if back:
        x, y = layout.width - 90, (y1 + y2) / 2 - 9
    return _chip(x, y, words, "flight")


def mermaid(trace: Trace) -> str:
    """The graph of a run as a Mermaid flowchart, for a page that draws those; edges that lead back are dotted.

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
    modules: list[dict[str, Any]] = trace.header["modules"]
    boxes = [
        f'    m{module["id"]}["{"<br>".join(map(_escaped, (module["name"], *module.get("notes", ()))))}"]'
        for module in modules
    ]
    lines = [
        f"    m{start} {'-.->' if back else '-->'} m{end}" for start, end, _, back in layout_of(trace.header).lines
    ]
    return "\n".join(("flowchart TD", *boxes, *lines))


def _escaped(name: str) -> str:
    # Mermaid's own signs for those that would end a label, or begin an element in it.
    return name.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")
