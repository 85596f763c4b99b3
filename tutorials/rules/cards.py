"""The cards: for each rule, a scene that keeps it and a scene that breaks it."""

from collections.abc import Callable
from typing import Any

import attrs

import pullstream as ps
from tutorials.rules.by_hand import (
    AnswersAll,
    ByHand,
    InTurn,
    LastFirst,
    Late,
    Letters,
    Prompt,
    Restarts,
    abort_beside,
    all_of_it,
    for_two,
    one_lane_twice,
    two_lanes,
    until_done,
)
from tutorials.rules.in_runs import (
    Fails,
    FailsTooSoon,
    File,
    ForgetsTheStamp,
    GoesBack,
    InARun,
    KeepsTheAbort,
    NeverCloses,
    Passes,
    StopsByItself,
    days,
)


@attrs.frozen
class Card:
    """Two scenes for a rule: one keeps it, the other breaks it."""

    kept: ByHand | InARun
    broken: ByHand | InARun


def _piped(*modules: Any) -> Any:
    pipe: Callable[..., Any] = ps.pipe
    return pipe(*modules)


def _first(module: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: _piped(ps.values("ab"), module(), ps.first())


def _all(module: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: _piped(ps.values("a"), module(), ps.collect())


def _file(source: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: _piped(source(), ps.first())


def _days(module: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: _piped(days(), module(), ps.collect())


CARDS = {
    "R1": Card(ByHand(InTurn, two_lanes), ByHand(LastFirst, two_lanes)),
    "R2": Card(ByHand(Letters, for_two), ByHand(AnswersAll, for_two)),
    "R3": Card(ByHand(Letters, all_of_it), ByHand(Restarts, all_of_it)),
    "R4": Card(ByHand(InTurn, two_lanes), ByHand(InTurn, one_lane_twice)),
    "R5": Card(ByHand(Prompt, abort_beside), ByHand(Late, abort_beside)),
    "R6": Card(InARun(_first(Passes), "Passes"), InARun(_first(KeepsTheAbort), "KeepsTheAbort")),
    "R7": Card(
        InARun(lambda: ps.pipe(ps.values("ab"), ps.take(1), ps.collect()), "take"),
        InARun(_all(StopsByItself), "StopsByItself"),
    ),
    "R8": Card(InARun(_all(Fails), "Fails"), InARun(_all(FailsTooSoon), "FailsTooSoon")),
    "R9": Card(ByHand(Letters, until_done), ByHand(Letters, all_of_it, strict=True)),
    "R10": Card(
        InARun(_file(File), "File", ("acquired", "released")),
        InARun(_file(NeverCloses), "NeverCloses", ("acquired", "released")),
    ),
    "R11": Card(
        InARun(_all(Passes), "Passes", ("stamps",)),
        InARun(_all(ForgetsTheStamp), "ForgetsTheStamp", ("stamps",)),
    ),
    "R12": Card(
        InARun(_days(Passes), "Passes", ("stamps",)),
        InARun(_days(GoesBack), "GoesBack", ("stamps",)),
    ),
}
"""The card of each rule."""
