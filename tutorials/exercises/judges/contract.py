"""What is asked of `within`: every small report, judged as the toolkit's own check of operators does."""

from itertools import combinations_with_replacement, product

import attrs

from pullstream.timely import IDENTITY, CapabilityError, MutableAntichain, Product
from pullstream.timely.theory import ChangeBatch, Progress
from pullstream.timely.theory.operate import check_contract
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Chapter 12, piece 2.",
        "What gives a right to a time, and for which claims is one needed?",
        "Each time in `sent` and in `gained` is at or after one in `held` or `taken`; what is given up was held.",
    ),
    "lax": (
        "Chapter 12, pieces 2 and 5.",
        "Something came from nothing, or went that was not there. Does what the outside may send give a right?",
        "`any(right <= time for right in [*held, *report.taken])`, for each time that was sent or gained.",
    ),
    "strict": (
        "Chapter 12, pieces 2 and 3.",
        "It had a right: one that it held already, or that it had until it was given up in this very report.",
        "What was held before the report counts for all of it. `right <= time` is enough: times may differ.",
    ),
}

EARLY, OTHER, LATE = Product(0, 1), Product(1, 0), Product(1, 1)
"""Two times of which neither is before the other, and one after both."""


@attrs.frozen
class Report:
    """What an operator reports."""

    taken: list
    sent: list
    gained: list
    given_up: list


def judge(answer, seeds):
    """Judge an answer."""
    within = answer["within"]
    for held, outside, report in cases():
        why = objection(held, report)
        said = within(list(held), list(outside), Report(*map(list, attrs.astuple(report))))
        if said is True and why:
            raise Wrong("lax", f"{_told(held, outside, report)}\nyou believe that, and {why}")
        if said is False and not why:
            why = "what it claims is at or after what it held or took"
            raise Wrong("strict", f"{_told(held, outside, report)}\nyou do not believe that, but {why}")
        if said is not True and said is not False:
            raise Wrong("values", f"within(...) gave {said!r}: it should be True or False")


def cases():
    """All small ones, the smallest first."""
    few = [list(times) for n in (0, 1, 2) for times in combinations_with_replacement((EARLY, OTHER, LATE), n)]
    one = [times for times in few if len(times) < 2]
    every = product(few, ([], [EARLY]), one, one, one, few)
    for held, outside, taken, sent, gained, given_up in sorted(every, key=lambda case: sum(map(len, case))):
        if not set(gained) & set(given_up):
            yield held, outside, Report(taken, sent, gained, given_up)


def objection(held, report):
    """Why it is not within the contract; nothing if it is."""
    progress = Progress.none(1, 1)
    for time in report.taken:
        progress.consumed[0].update(time, 1)
    for time in report.sent:
        progress.produced[0].update(time, 1)
    for time, delta in [*((time, 1) for time in report.gained), *((time, -1) for time in report.given_up)]:
        progress.internal[0].update(time, delta)
    counted = MutableAntichain()
    for time, number in ChangeBatch((time, 1) for time in held):
        counted.update(time, number)
    try:
        check_contract("the operator", {(0, 0): (IDENTITY,)}, [counted], progress)
    except CapabilityError as exc:
        claimed = [time for time in [*report.sent, *report.gained] if f"claims {time!r} " in str(exc)]
        return f"nothing gives it a right to {_times(claimed[:1])}" if claimed else "it gives up what it has not"
    return ""


def _told(held, outside, report):
    parts = [("held", held), ("took", report.taken), ("sent", report.sent), ("gained", report.gained)]
    parts += [("gave up", report.given_up)]
    said = "; ".join(f"{word} {_times(times)}" for word, times in parts if times) or "did nothing"
    more = f"; the outside may still send at {_times(outside)}" if outside else ""
    return f"An operator {said}{more}:"


def _times(times):
    return ", ".join(str(tuple(time)) for time in times)
