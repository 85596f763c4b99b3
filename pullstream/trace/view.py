"""The player: one page, with all that it needs inside, that steps through a trace."""

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
from pullstream.trace.file import Trace
from pullstream.trace.times import Json, told

SCRIPTS = ("model.js", "pictures.js", "page.js")
"""The scripts of the page, in their order; with its style and its frame they are files of this package."""

NO_VERDICT: Final[dict[str, Json]] = {"verdict": "none", "objections": []}
"""Of a trace that is not whole."""

NOTHING: Final[Sequence[Json]] = (1, 0.0, "of what happened nothing was written down")
"""The event of a trace that was cut short before its first: the page has a step to be at."""


def page_of(trace: Trace, title: str = "A run, step by step", *, told: str = "", step: int | None = None) -> str:
    """Make the page: it asks for nothing from anywhere, and shows edges, times and events at any step.

    It opens at `step`, as where it goes wrong, or else at the first event that breaks a rule or that the model does not
    allow, or else at its beginning. `told` says above what is wrong; where it says nothing, the rule is said.
    """
    data = {**data_of(trace), "told": told, "opens": step}
    script, style = "\n".join(map(_file, SCRIPTS)), _file("player.css")
    parts = {
        "title": escape(title),
        "style": style,
        "style-hash": _hash(style),
        "script": script,
        "script-hash": _hash(script),
        "data": b64encode(compress(json.dumps(data, ensure_ascii=False).encode(), 9)).decode(),
    }
    page = _file("page.html")
    for name, content in parts.items():
        page = page.replace(f"@{name}@", content)
    return page


def data_of(trace: Trace) -> dict[str, Json]:
    """The trace as the page reads it: its times are words."""
    header = trace.header
    return {
        "modules": header["modules"],
        "places": header["places"],
        "edges": header["edges"],
        "sinks": header["sinks"],
        "steps": header["plan"]["steps"],
        "initial": [[place, told(time)] for place, time in header["plan"]["initial"]],
        "layout": layout_of(header).as_json(),
        "events": [_with_words(event) for event in trace.events] or [NOTHING],
        "verdict": trace.verdict or NO_VERDICT,
        "rules": dict(RULES),
    }


def _with_words(event: Sequence[Json]) -> Sequence[Json]:
    number, clock, kind, *about = event
    match kind, about:
        case "stamps", [changes]:
            return [number, clock, kind, [[place, told(time), delta] for place, time, delta in changes]]
        case "frontiers", [frontiers]:
            return [number, clock, kind, [[place, _all(times)] for place, times in frontiers]]
        case (("awaited" | "completed" | "dismissed"), [place, time]):
            return [number, clock, kind, place, told(time)]
        case "said", [place, times]:
            return [number, clock, kind, place, _all(times)]
        case "value", [edge, lane, request, count, time, values]:
            return [number, clock, kind, edge, lane, request, count, ", ".join(_all(times_of(time))), values]
        case _:
            return event


def _all(times: Sequence[Json]) -> list[str]:
    return [told(time) for time in times]


def _file(name: str) -> str:
    return (files("pullstream.trace") / "player" / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """By this the page's own rule lets its script and style in, and no others."""
    return b64encode(sha256(content.encode()).digest()).decode()
