"""The player: a self-contained page that steps through a trace."""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Final
from zlib import compress

from pullstream.checker.rules import RULES
from pullstream.trace.drawing.layout import layout_of
from pullstream.trace.drawing.messages import times_of
from pullstream.trace.file import Trace, with_times
from pullstream.trace.times import Json, time_text

SCRIPTS = ("model.js", "pictures.js", "page.js")
"""The scripts of the page, in order; like its style and its frame, they are files of this package."""

NO_VERDICT: Final[dict[str, Json]] = {"verdict": "none", "objections": []}
"""The verdict of an incomplete trace."""

NOTHING: Final[Sequence[Json]] = (1, 0.0, "the trace has no events")
"""The event shown for a trace that ends before its first event, because the page needs a step."""


def page_of(trace: Trace, title: str = "A run, step by step", *, told: str = "", step: int | None = None) -> str:
    """Make the page, which loads nothing from elsewhere and shows edges, times and events at any step.

    It opens at `step`; by default at the first event that breaks a rule or that the model does not allow, or else at
    the beginning. `told` is a text at the top that says what is wrong; by default, it is the broken rule.
    """
    data = {**data_of(trace), "told": told, "opens": step}
    script, style = "\n".join(map(_file, SCRIPTS)), _file("player.css")
    parts = {
        "title": escape(title),
        "style": style,
        "style-hash": _hash(style),
        "script": script,
        "script-hash": _hash(script),
        "data": b64encode(compress(json.dumps(data).encode(), 9)).decode(),
    }
    page = _file("page.html")
    for name, content in parts.items():
        page = page.replace(f"@{name}@", content)
    return page


def data_of(trace: Trace) -> dict[str, Json]:
    """Return the trace in the form that the page reads, with times as text."""
    header = trace.header
    return {
        "modules": header["modules"],
        "places": header["places"],
        "edges": header["edges"],
        "sinks": header["sinks"],
        "steps": header["plan"]["steps"],
        "initial": [[place, time_text(time)] for place, time in header["plan"]["initial"]],
        "layout": layout_of(header).as_json(),
        "events": [_with_words(event) for event in trace.events] or [NOTHING],
        "verdict": trace.verdict or NO_VERDICT,
        "rules": dict(RULES),
    }


def _with_words(event: Sequence[Json]) -> Sequence[Json]:
    number, clock, kind, *about = event
    match kind, about:
        case "value", [edge, lane, request, count, time, values]:
            return [number, clock, kind, edge, lane, request, count, ", ".join(map(time_text, times_of(time))), values]
        case _:
            return [number, clock, kind, *with_times(kind, about, time_text)]


def _file(name: str) -> str:
    return (files("pullstream.trace") / "player" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the hash with which the page's own policy admits its script and style, and no others."""
    return b64encode(sha256(content.encode()).digest()).decode()
