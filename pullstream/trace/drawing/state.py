"""The state of a run at a step of its trace: times held and in flight at each place, and every frontier."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable

import attrs

from pullstream.trace.file import Trace
from pullstream.trace.times import Json, told


@attrs.frozen
class StateAt:
    """By place: pointstamps as text, with their counts; and the frontier, None before it is known."""

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
            frontiers.update({place: _told(times) for place, times in about[0]})
    stamps = {
        place: Counter({words[key]: count for key, count in found.items() if count > 0})
        for place, found in counts.items()
    }
    return StateAt(stamps, frontiers)


def _key(time: Json, words: dict[str, str]) -> str:
    key = json.dumps(time)
    words[key] = told(time)
    return key


def _told(times: Iterable[Json]) -> list[str]:
    return [told(time) for time in times]
