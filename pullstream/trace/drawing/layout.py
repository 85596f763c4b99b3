"""The layout of a graph: modules in rows below those they ask; the content of a frame is one block."""

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Final

import attrs

from pullstream.trace.drawing.svg import letters
from pullstream.trace.times import Json

BOX, HEIGHT, GAP, BETWEEN, MARGIN = 136, 44, 12, 42, 6
PAD, TITLE, BELOW = 10, 24, 26
"""The room inside a frame: at the sides, above for its title, and below for held times."""
LABEL: Final = 28.0
"""The room below a module for the label of its line."""
TURN: Final = 20.0
"""The room beside a block for lines that lead back."""

Line = tuple[int, int, int]
"""A line: from module, to module, into place."""


@attrs.frozen
class Frame:
    """A frame around modules."""

    left: float
    top: float
    width: float
    height: float
    title: str
    beside: int | None
    """The module that opens the framed stream, drawn beside it; None for a part of the graph itself."""


@attrs.frozen
class Way:
    """An edge: straight down to `leave`, from there across to its end, and straight down from `enter`.

    An edge that leads back up runs along `side` instead.
    """

    start: int
    end: int
    place: int
    leave: float
    enter: float
    side: float | None = None


@attrs.frozen
class Layout:
    """The positions of boxes, frames and lines, by module and by input."""

    width: float
    height: float
    boxes: Mapping[int, tuple[float, float]]
    """The centre of each module's box."""
    lines: Sequence[Way]
    frames: Sequence[Frame]
    """The frames, outer ones first."""
    holds: Mapping[int, tuple[float, bool]]
    """The position below each module for its held times, and whether the text ends there, beside the line."""

    def as_json(self) -> Json:
        """Return the layout for a page."""
        return {
            "width": self.width,
            "height": self.height,
            "box": [BOX, HEIGHT],
            "boxes": {str(node): list(middle) for node, middle in self.boxes.items()},
            "lines": [list(attrs.astuple(line)) for line in self.lines],
            "frames": [list(attrs.astuple(frame)) for frame in self.frames],
            "holds": {str(node): list(place) for node, place in self.holds.items()},
        }


@attrs.define
class Block:
    """A unit of the layout: a module, or the content of a frame. All positions in it are relative to it."""

    width: float
    height: float
    anchor: float
    """The position, from its left, where its line enters and leaves."""
    boxes: dict[int, tuple[float, float]]
    frames: list[Frame] = attrs.field(factory=list[Frame])
    sides: dict[Line, float] = attrs.field(factory=dict[Line, float])
    """The lines in it that lead back, and where they turn."""
    bends: dict[Line, tuple[float, float]] = attrs.field(factory=dict[Line, tuple[float, float]])
    """For each other line in it: where the row of its start ends, and the row of its end begins."""
    below: float = 0.0
    """The room it needs below for the label of its line."""

    def put(self, block: "Block", left: float, top: float) -> None:
        """Put another block into this one."""
        self.boxes |= {node: (x + left, y + top) for node, (x, y) in block.boxes.items()}
        self.frames += [attrs.evolve(one, left=one.left + left, top=one.top + top) for one in block.frames]
        self.sides |= {line: side + left for line, side in block.sides.items()}
        self.bends |= {line: (leave + top, enter + top) for line, (leave, enter) in block.bends.items()}


def layout_of(header: Mapping[str, Json]) -> Layout:
    """Lay out a graph: every module is below those it asks; feedback in a loop leads back up."""
    module_of = {place["id"]: place["module"] for place in header["places"]}
    outputs = {place["id"] for place in header["places"] if place["input"] is None}
    edges: list[Line] = [(module_of[a], module_of[b], b) for a, b, _ in header["plan"]["steps"] if a in outputs]
    nodes: list[int] = [module["id"] for module in header["modules"]]
    saying = {module["id"] for module in header["modules"] if "begins" in module} & {start for start, _, _ in edges}
    whole = _Enclosing(nodes, edges, header.get("frames", ()), saying).block(None)
    lines = [Way(*edge, *whole.bends.get(edge, (0.0, 0.0)), whole.sides.get(edge)) for edge in edges]
    below: dict[int, list[int]] = {node: [] for node in nodes}
    for start, end, _ in whole.bends:
        below[start].append(end)
    holds = {node: _beside(whole.boxes, node, ends) for node, ends in below.items()}
    return Layout(whole.width, whole.height, whole.boxes, lines, whole.frames, holds)


def _beside(boxes: Mapping[int, tuple[float, float]], node: int, below: Sequence[int]) -> tuple[float, bool]:
    x = boxes[node][0]
    if not below:
        return x - BOX / 2, False
    # On the side that the line turns away from.
    return (x + 6, False) if boxes[below[0]][0] < x else (x - 6, True)


Item = tuple[str, int]
"""A part of a block: a module or a frame, by number."""


class _Enclosing:
    """A graph with frames, laid out from the inside out."""

    def __init__(
        self, nodes: Sequence[int], edges: Sequence[Line], frames: Sequence[Json], saying: Collection[int]
    ) -> None:
        self._edges = edges
        self._saying = saying
        self._frames = frames
        self._home: dict[int, int | None] = dict.fromkeys(nodes)
        for number, frame in enumerate(frames):
            self._home |= dict.fromkeys(frame["modules"], number)

    def block(self, frame: int | None) -> Block:
        """Lay out the content of a frame, or the whole graph."""
        items: list[Item] = [("module", node) for node, home in self._home.items() if home == frame]
        items += [
            ("frame", number)
            for number, one in enumerate(self._frames)
            if one["within"] == frame and one["beside"] is None
        ]
        found = {node: self._item(node, frame) for node in self._home}
        lines = {
            line: (a, b)
            for line in self._edges
            if (a := found[line[0]]) is not None and (b := found[line[1]]) is not None and a != b
        }
        return _stacked({item: self._one(item, frame) for item in items}, lines, root=frame is None)

    def _item(self, node: int, frame: int | None) -> Item | None:
        """Return the part of a frame that contains a module: the module, a frame, or None."""
        home, item = self._home[node], ("module", node)
        while home != frame:
            if home is None or self._frames[home]["beside"] is not None:
                return None
            home, item = self._frames[home]["within"], ("frame", home)
        return item

    def _one(self, item: Item, frame: int | None) -> Block:
        kind, number = item
        if kind == "frame":
            return self._framed(number)
        row = [
            self._framed(of)
            for of, one in enumerate(self._frames)
            if one["beside"] == number and one["within"] == frame
        ]
        height = max([HEIGHT, *(block.height for block in row)])
        below = LABEL if number in self._saying else 0.0
        whole = Block(BOX, height, BOX / 2, {number: (BOX / 2, height / 2)}, below=below)
        for block in row:
            whole.put(block, whole.width + 2 * GAP, (height - block.height) / 2)
            whole.width += 2 * GAP + block.width
        return whole

    def _framed(self, number: int) -> Block:
        inside, about = self.block(number), self._frames[number]
        # A title may be wider than the frame's content.
        wide = max(inside.width, 7.0 * letters(about["title"])) + 2 * PAD
        left = (wide - inside.width) / 2
        height = inside.height + TITLE + PAD
        around = Frame(0.0, 0.0, wide, height, about["title"], about["beside"])
        whole = Block(wide, height, inside.anchor + left, {}, [around])
        whole.put(inside, left, float(TITLE))
        return whole


def _stacked(blocks: Mapping[Item, Block], lines: Mapping[Line, tuple[Item, Item]], *, root: bool) -> Block:
    """Arrange blocks in rows, by the lines between them."""
    back = _leading_back(list(blocks), lines)
    down = [pair for line, pair in lines.items() if line not in back]
    turning = {lines[line][0] for line in back}
    rows: dict[int, list[Item]] = {}
    for item, level in _levels(list(blocks), down).items():
        rows.setdefault(level, []).append(item)
    room = TURN if back else 0.0
    # Lines that lead back run on the right; the whole graph stays centred.
    before = room if root else 0.0
    margin = MARGIN if root else 0
    # If no blocks are side by side, lines go straight down, past the sides.
    straight = all(len(row) == 1 for row in rows.values())
    anchor = max((block.anchor for block in blocks.values()), default=0.0)
    widest = max((sum(blocks[item].width + GAP for item in row) - GAP for row in rows.values()), default=0.0)
    if straight:
        widest = anchor + max((block.width - block.anchor for block in blocks.values()), default=0.0)
    inner = max(320.0 - 2 * room if root else 0.0, widest + 2 * margin)
    heights = [max(blocks[item].height for item in rows[level]) for level in sorted(rows)]
    rooms = [max(blocks[item].below for item in rows[level]) for level in sorted(rows)]
    ends = [height + room for height, room in zip(heights, rooms, strict=True)]
    tops = list(accumulate((end + BETWEEN for end in ends), initial=float(margin)))
    bottom = tops[-1] - BETWEEN + margin + (BELOW if root else 0)
    whole = Block(before + inner + room, bottom, 0.0, {})
    centre: dict[Item, float] = {}

    def wanted(item: Item) -> tuple[bool, float]:
        """Place an item below its upstream, or at the side if it leads back there."""
        above = [centre[start] for start, end in down if end == item]
        return item in turning, sum(above) / (len(above) or 1)

    for level, row in sorted(rows.items()):
        spare = (inner - sum(blocks[item].width for item in row)) / len(row)
        left = before + spare / 2
        for item in sorted(row, key=wanted):
            block = blocks[item]
            if straight:
                left = before + (inner - widest) / 2 + anchor - block.anchor
            centre[item] = left + block.anchor
            whole.put(block, left, tops[level] + (heights[level] - block.height) / 2)
            left += block.width + spare
    level_of = {item: level for level, row in rows.items() for item in row}
    for line, (start, end) in lines.items():
        if line in back:
            whole.sides[line] = whole.width - 4
        else:
            above, below = level_of[start], level_of[end]
            whole.bends[line] = tops[above] + ends[above], tops[below]
    whole.anchor = next(iter(centre.values()), 0.0) if straight else before + inner / 2
    return whole


def _leading_back(items: Sequence[Item], lines: Mapping[Line, tuple[Item, Item]]) -> set[Line]:
    """Return the lines that close a cycle, on the way down from the sources."""
    back: set[Line] = set()
    seen: set[Item] = set()
    under_way: set[Item] = set()

    def visit(item: Item) -> None:
        seen.add(item)
        under_way.add(item)
        for line, (start, end) in lines.items():
            if start == item:
                if end in under_way:
                    back.add(line)
                elif end not in seen:
                    visit(end)
        under_way.discard(item)

    fed = {end for _, end in lines.values()}
    for item in sorted(items, key=lambda item: item in fed):
        if item not in seen:
            visit(item)
    return back


def _levels(items: Sequence[Item], lines: Sequence[tuple[Item, Item]]) -> dict[Item, int]:
    """Return the number of rows above each item, by the longest path; sources are directly above their consumers."""
    levels = dict.fromkeys(items, 0)
    for _ in items:
        for start, end in lines:
            levels[end] = max(levels[end], levels[start] + 1)
    fed = {end for _, end in lines}
    below = {item: [levels[end] for start, end in lines if start == item] for item in items if item not in fed}
    return levels | {item: min(found) - 1 for item, found in below.items() if found}
