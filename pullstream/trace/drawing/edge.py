"""The edge diagram: lifelines of modules, and requests and answers between them, from top to bottom."""

from collections.abc import Collection, Sequence
from textwrap import wrap

from pullstream.trace.drawing.messages import Message, lifelines, messages_of
from pullstream.trace.drawing.svg import arrow, drawing, element, line, short, text
from pullstream.trace.file import Trace

WIDTH = 360
"""The width of a drawing: legible on a small phone."""

ROW, TOP = 30, 64
LETTER = 7.3
MOST = 200
"""The most messages to draw."""


def draw_edge(trace: Trace, module: str, notes: Collection[str] = ()) -> str:
    """Draw the messages on the edges of a module, below it and above it, as SVG.

    Consumers are on the left: an ask goes right, to upstream, and its answer comes back. `notes` are further kinds of
    events to show: "acquired", "released", "stamps", "completed".

    Raises:
        LookupError: the run has no module with this name.
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
        text(x, 20, short(name, min(apart, 96 if x in {left, right} else 140) - 4, 7.4), "name", "middle")
        + text(x, 38, mark, "small soft", "middle")
        for x, name, mark in zip(at, names, marks, strict=True)
    ]
    rows: list[str] = []
    y: float = TOP
    shown, left_out = messages[:MOST], len(messages) - MOST
    for message in shown:
        start, end = at[message.sender], at[message.receiver]
        bad = "bad" if message.offence else ""
        if start == end:
            rows.append(_note(start, y, message.words, bad, last=message.sender == len(names) - 1))
            y += ROW - 6
            y = _offence(rows, y, message.offence)
            continue
        kind = f"{'answer ' if message.answer else ''}{bad}".strip()
        inset = 5 if end > start else -5
        rows.append(arrow(start + inset / 2, y, end - inset / 2, kind))
        words = short(message.words, WIDTH - 24, LETTER)
        # Above the arrow if there is room; otherwise from its outer end on, past the module in the middle.
        x, anchor = (start + end) / 2, "middle"
        if len(words) * LETTER > apart - 8:
            x, anchor = (8, "start") if min(start, end) == left else (WIDTH - 8, "end")
        rows.append(text(x, y - 6, words, f"mono {bad}".strip(), anchor))
        y = _offence(rows, y + ROW, message.offence)
    if left_out > 0:
        rows.append(text(WIDTH / 2, y - 6, f"… and {left_out} more", "small soft", "middle"))
        y += ROW
    bottom = y - 10
    lives = [line(x, 46, x, bottom, "line faint") for x in at]
    frame = [element("g", [*lives, *heads, *rows])]
    told = "; ".join(f"{names[message.sender]}: {message.words}" for message in shown)
    return drawing(WIDTH, bottom + 12, title, told or "Nothing passed.", frame)


def _note(x: float, y: float, words: str, bad: str, *, last: bool) -> str:
    """Draw a dot on a lifeline, with the event's text beside it."""
    dot = element("circle", cx=x, cy=y - 4, r=4, class_=f"head {bad}".strip())
    return dot + text(x - 9 if last else x + 9, y, words, f"small {bad}".strip(), "end" if last else "start")


def _offence(rows: list[str], y: float, words: str) -> float:
    """Draw the broken rule below; return where the next row begins."""
    for part in wrap(words, 50, break_long_words=False, break_on_hyphens=False):
        rows.append(text(WIDTH / 2, y - 10, part, "small bad", "middle"))
        y += 16
    return y + 6 if words else y
