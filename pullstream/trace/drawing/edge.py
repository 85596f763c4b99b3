"""The edge diagram: lifelines of modules, and requests and answers between them, from top to bottom."""

from collections.abc import Collection, Iterator, Sequence
from textwrap import wrap

from pullstream.trace.drawing.messages import Message, lifelines, messages_of
from pullstream.trace.drawing.svg import arrow, drawing, element, letters, short, short_name, text
from pullstream.trace.file import Trace

WIDTH = 360
"""The width of a drawing: legible on a small phone."""

ROW, TOP = 30, 64
LETTER, SMALL = 7.3, 6.4
"""The widths of a letter of a message, and of other text."""
MOST = 200
"""The most messages to draw."""


def draw_edge(trace: Trace, module: str, notes: Collection[str] = ()) -> str:
    """Draw the messages on the edges of a module, downstream and upstream of it, as SVG.

    Consumers are on the left: an ask goes right, upstream, and its answer comes back. `notes` are further kinds of
    events to show: "acquired", "released", "stamps", "completed".

    Raises: LookupError: the run has no module with this name.
    """
    edges, names = lifelines(trace, module)
    return draw_messages(messages_of(trace, edges, notes), names, f"The edges of {module}")


def draw_messages(messages: Sequence[Message], names: Sequence[str], title: str) -> str:
    """Draw messages between modules; the first module is the furthest downstream."""
    left, right = 46.0, WIDTH - 46.0
    apart = (right - left) / (len(names) - 1)
    at = [left + apart * number for number in range(len(names))]
    marks = ["D", "U"] if len(names) == 2 else ["D", "T", "U"]
    heads = [
        text(x, 20, short_name(name, min(apart, 96 if x in {left, right} else 140) - 4), "name", "middle")
        + text(x, 38, mark, "small soft", "middle")
        for x, name, mark in zip(at, names, marks, strict=True)
    ]
    page = _Page(at)
    y: float = TOP
    shown, left_out = messages[:MOST], len(messages) - MOST
    for message in shown:
        start, end = at[message.sender], at[message.receiver]
        bad = " bad" if message.offence else ""
        if start == end:
            # A dot on the lifeline, with the event's text beside it.
            page.rows.append(element("circle", cx=start, cy=y - 4, r=4, class_=f"head{bad}"))
            x, anchor = (start - 9, "end") if start == right else (start + 9, "start")
            page.write(message.words, x, y, f"small{bad}", anchor)
            y += ROW - 6
        else:
            inset = 2.5 if end > start else -2.5
            page.rows.append(arrow(start + inset, y, end - inset, f"{'answer' * message.answer}{bad}".strip()))
            # Above the arrow if there is room; otherwise from its outer end on, past the module in the middle.
            x, anchor = (start + end) / 2, "middle"
            if letters(message.words) * LETTER > apart - 8:
                x, anchor = (8, "start") if min(start, end) == left else (WIDTH - 8, "end")
            page.write(message.words, x, y - 6, f"mono{bad}", anchor, per_letter=LETTER)
            y += ROW
        for part in wrap(message.offence, 50, break_long_words=False, break_on_hyphens=False):
            page.write(part, WIDTH / 2, y - 10, "small bad", "middle")
            y += 16
        y += 6 if message.offence else 0
    if left_out > 0:
        page.write(f"… and {left_out} more", WIDTH / 2, y - 6, "small soft", "middle")
        y += ROW
    bottom = y - 10
    frame = [element("g", [*page.lives(bottom), *heads, *page.rows])]
    told = "; ".join(f"{names[message.sender]}: {message.words}" for message in shown)
    return drawing(WIDTH, bottom + 12, title, told or "Nothing passed.", frame)


class _Page:
    """The rows of a drawing, and the places where their text is on a lifeline."""

    def __init__(self, at: Sequence[float]) -> None:
        self.rows: list[str] = []
        self._crossed: dict[float, list[float]] = {x: [] for x in at}

    def write(self, words: str, x: float, y: float, class_: str, anchor: str, *, per_letter: float = SMALL) -> None:
        """Write text, shortened so that it fits into the drawing."""
        words = short(words, {"start": WIDTH - 8 - x, "middle": WIDTH - 24, "end": x - 8}[anchor], per_letter)
        wide = letters(words) * per_letter
        begin = x - {"start": 0, "middle": wide / 2, "end": wide}[anchor]
        for life, crossed in self._crossed.items():
            if begin - 3 < life < begin + wide + 3:
                crossed.append(y)
        self.rows.append(text(x, y, words, class_, anchor))

    def lives(self, bottom: float) -> Iterator[str]:
        """Draw the lifelines, with a gap for each text on them, because a drawing does not know the background."""
        for x, crossed in self._crossed.items():
            gaps = "".join(f"V{y - 12:.0f}M{x:.0f} {y + 4:.0f}" for y in crossed)
            yield element("path", d=f"M{x:.0f} 46{gaps}V{bottom:.0f}", class_="line faint")
