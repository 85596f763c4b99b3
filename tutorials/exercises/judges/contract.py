"""The judge of `within`: tries every small report, and compares with the toolkit's own check of operators."""

from itertools import combinations_with_replacement, product

import attrs

from pullstream.timely import IDENTITY, CapabilityError, MutableAntichain, Product
from pullstream.timely.theory import ChangeBatch, Progress
from pullstream.timely.theory.operate import check_contract
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Read section 12.2.",
        "What gives a right to a time, and for which claims is one needed?",
        "Each time in `sent` and `gained` must be at or after one in `held` or `taken`; what is given up must be held.",
    ),
    "lax": (
        "Read sections 12.2 and 12.5.",
        "Something came from nothing, or was given up but never held. Does a message that may still come give a right?",
        "`any(right <= time for right in [*held, *report.taken])`, for each time that was sent or gained.",
    ),
    "strict": (
        "Read sections 12.2 and 12.3.",
        "The operator had a right: it held one already, perhaps until it gave it up in this very report.",
        "Everything held before the report counts for the whole report. `right <= time` is enough: times may differ.",
    ),
}

EARLY, OTHER, LATE = Product(0, 1), Product(1, 0), Product(1, 1)
"""Two times, neither before the other, and a time after both."""


@attrs.frozen
class Report:
    """The report of an operator."""

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
            raise Wrong("lax", f"{_told(held, outside, report)}\nyou accept this, but {why}")
        if said is False and not why:
            why = "its claims are at or after what it held or took"
            raise Wrong("strict", f"{_told(held, outside, report)}\nyou refuse this, but {why}")
        if said is not True and said is not False:
            raise Wrong("values", f"within(...) returned {said!r}; return True or False")


def cases():
    """Yield all small cases, the smallest first."""
    few = [list(times) for n in (0, 1, 2) for times in combinations_with_replacement((EARLY, OTHER, LATE), n)]
    one = [times for times in few if len(times) < 2]
    every = product(few, ([], [EARLY]), one, one, one, few)
    for held, outside, taken, sent, gained, given_up in sorted(every, key=lambda case: sum(map(len, case))):
        if not set(gained) & set(given_up):
            yield held, outside, Report(taken, sent, gained, given_up)


def objection(held, report):
    """Explain why a report breaks the contract; return an empty string if it does not."""
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
        return (
            f"nothing gives it a right to {_times(claimed[:1])}"
            if claimed
            else "it gives up a capability that it does not hold"
        )
    return ""


def _told(held, outside, report):
    parts = [("held", held), ("took", report.taken), ("sent", report.sent), ("gained", report.gained)]
    parts += [("gave up", report.given_up)]
    said = "; ".join(f"{word} {_times(times)}" for word, times in parts if times) or "did nothing"
    more = f"; the outside may still send at {_times(outside)}" if outside else ""
    return f"An operator {said}{more}:"


def _times(times):
    return ", ".join(str(tuple(time)) for time in times)
