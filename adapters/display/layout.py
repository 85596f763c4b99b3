"""A run's state as lines of a given width.

The table is formatted here and not by rich, which would take milliseconds, several times a second.
"""

from collections.abc import Sequence
from textwrap import wrap

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from .history import History, Row, of_rate, of_seconds

STYLES = {"running": "cyan", "finished": "green", "stopped": "yellow", "stalled": "bold red", "failed": "bold red"}

NAME = 14
"""The minimum width of a module's name; columns that do not fit beside it are dropped."""

MUCH = 0.5
"""The busy share above which a module counts as the bottleneck."""


def lines(history: History, width: int, height: int = 0) -> list[Text]:
    """Format the whole state, in lines of at most `width`; with a `height`, in about that many."""
    head = [*headline(history, width), *_bar(history, width), *_notes(history, width)]
    if history.nothing_to_do:
        return head
    room = height - len(head) - 2
    table = _table(history.rows, width, finished=history.running.finished)
    if 0 < room < len(table):
        table = [*table[:room], Text(f"... and {len(table) - room} more lines", style="dim")]
    return [*head, *table]


def headline(history: History, width: int = 0) -> list[Text]:
    """Format the run's state in lines of at most `width` or, without it, in one line."""
    style, seconds = STYLES[history.state], of_seconds(history.seconds)
    parts = [
        Text.assemble((history.state, style), f" in {seconds}") if history.running.finished else Text(seconds, style)
    ]
    now = history.now
    if history.frontier:
        parts.append(Text.assemble("at ", (history.frontier, "bold")))
    if now.done:
        of = "" if history.times is None else f" of {history.times:,}"
        times = "time" if (history.times or now.done) == 1 else "times"
        parts.append(Text(f"{now.done:,}{of} {times} done"))
    if not history.nothing_to_do:
        parts.append(Text(f"{now.read:,} {'value' if now.read == 1 else 'values'}, {of_rate(history.rate)}/s"))
    rows = [Text()]
    for part in parts:
        if not rows[-1]:
            rows[-1] = part
        elif not width or rows[-1].cell_len + part.cell_len + 3 <= width:
            rows[-1] = Text.assemble(rows[-1], (" · ", "dim"), part)
        else:
            rows.append(part)
    return [_fitted(line, width) for line in rows]


def quiet(history: History) -> list[str]:
    """Format a line that reports the lack of progress, and lines about its reasons."""
    if not history.quiet:
        return []
    first, *more = history.waits_for()
    return [f"no progress for {history.quiet:.0f} s: waiting for {first}", *(f"  {line}" for line in more)]


def _bar(history: History, width: int) -> list[Text]:
    if history.times is None or history.running.finished:
        return []
    part = min(history.now.done / history.times, 1.0)
    full = max(10, min(width, 60) - 5)
    filled = int(part * full)
    return [
        Text.assemble(("━" * filled, "green" if part == 1 else "cyan"), ("─" * (full - filled), "dim"), f"{part:5.0%}")
    ]


def _notes(history: History, width: int) -> list[Text]:
    notes = [Text(history.resumed, style="dim")] if history.resumed else []
    notes += [Text(line, style="yellow") for line in quiet(history)]
    notes += [Text(line, style="red") for line in history.error()]
    return [part for note in notes for part in _wrapped(note, width)]


def _table(rows: Sequence[Row], width: int, *, finished: bool) -> list[Text]:
    columns = {
        "out": [_number(row.counters.values_out) for row in rows],
        "/s": [of_rate(row.rate) if row.rate else "" for row in rows],
        "busy": [f"{row.busy:.0%}" if row.busy >= 0.005 else "" for row in rows],
        "in": [_number(row.counters.values_in) for row in rows],
        "skipped": [_number(row.counters.skipped) for row in rows],
    }
    if not any(columns["skipped"]):
        del columns["skipped"]
    longest = max((cell_len(row.name) for row in rows), default=0)
    sizes = {
        name: max(8 if name in {"in", "out", "/s"} else 5, len(name), *map(len, column)) + 2
        for name, column in columns.items()
    }
    while len(sizes) > 1 and sum(sizes.values()) + min(longest, NAME) > width:
        sizes.popitem()
    order = [name for name in ("in", "out", "skipped", "/s", "busy") if name in sizes]
    name_width = min(max(longest, NAME), width - sum(sizes.values()))
    most = max((row.busy for row in rows), default=0.0)
    head = "module".ljust(name_width) + "".join(name.rjust(sizes[name]) for name in order)
    table = [Text(head, style="dim")]
    for number, row in enumerate(rows):
        style = "bold" if row.busy == most > MUCH and not finished else ""
        text = set_cell_size(_cut(row.name, name_width), name_width)
        text += "".join(columns[name][number].rjust(sizes[name]) for name in order)
        table.append(Text(text.rstrip(), style=style))
        if row.counters.status:
            table.append(Text(_cut(f"  {row.counters.status}", width), style="dim italic"))
    return table


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(width - 1, 0))}…"


def _fitted(line: Text, width: int) -> Text:
    if width and line.cell_len > width:
        line.truncate(width, overflow="ellipsis")
    return line


def _wrapped(note: Text, width: int) -> list[Text]:
    text = note.plain
    if not width or note.cell_len <= width:
        return [note]
    indent = text[: len(text) - len(text.lstrip())]
    rows = wrap(text.strip(), width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False)
    return [Text(part, style=note.style) for row in rows for part in chop_cells(row, width)]
