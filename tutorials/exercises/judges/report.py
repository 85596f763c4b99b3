"""The judge of `report`: one report per day, with every sale, however late."""

import pullstream as ps
from tutorials.judging import Wrong
from tutorials.judging.steps import first_difference, value_at

SALES = [
    (9, "tea"), (14, "rice"), (10, "tea"), (8, "salt"), (25, "rice"), (21, "tea"), (19, "oil"), (30, "tea"),
    (24, "tea"), (49, "salt"), (47, "rice"), (44, "oil"), (43, "tea"), (60, "tea"),
]  # fmt: skip
WANTED = [
    (0, {"tea": 3, "rice": 1, "salt": 1, "oil": 1}),
    (1, {"rice": 2, "tea": 3, "oil": 1}),
    (2, {"salt": 1, "tea": 1}),
]

HINTS = {
    "": (
        "Read sections 7.2 and 7.3.",
        "Sales are late by hours. Which time may be late, the hour or the day?",
        "`ps.stamp` by the hour with `lateness=6`, `ps.map_time` to the day, and then a per-time module.",
    ),
    "R12": (
        "Read section 7.2.",
        "A sale came at a time that was complete.",
        "`ps.stamp(lambda sale: sale[0], lateness=6)`: `lateness` is in hours.",
    ),
    "early": (
        "Read section 7.7; chapter 8.",
        "A day was reported more than once.",
        "`ps.reduce_by_time` answers when the day is complete, and once.",
    ),
    "holding": (
        "Read section 7.2.",
        "When an hour is read, which hours can still come? Which day is over?",
        "`lateness` is in the unit of the time that `ps.stamp` gives: six hours. Sort nothing, there may be no end.",
    ),
    "values": (
        "Read section 7.2.",
        "Is a sale missing? Is a day cut in two, or mixed with another?",
        "Do not drop late sales: allow for them. A day is `hour // 24`.",
    ),
}
HINTS["CapabilityError"] = HINTS["R12"]


def judge(answer, seeds):
    """Judge an answer."""
    for limit in (1, 1000):
        result = ps.run(answer.returned("report", list(SALES)), limit=limit, check=True)
        if result == WANTED:
            continue
        at = value_at(first_difference(result, WANTED)) if isinstance(result, list) else None
        days = [pair[0] for pair in result] if isinstance(result, list) else []
        if len(days) > len(set(days)) and dict(result) == dict(WANTED):
            raise Wrong("early", f"a day is reported more than once; it gave\n{result}", at=at)
        raise Wrong("values", f"for\n{SALES}\nit gave\n{result}\nand should have given\n{WANTED}", at=at)
    is_prompt(answer["report"])


def is_prompt(report):
    """Check with a sale that comes too late that its day has been reported; it may also be refused."""
    until_30 = SALES[:8]
    try:
        result = ps.run(report([*until_30, (23, "late")]), limit=1)
    except Exception:
        return  # The sale is later than the task allows.
    first = dict(reversed(result))[0]
    if "late" in first:
        told = "after hour 30 day 0 is over, but a sale at hour 23 that came then was still counted"
        raise Wrong("holding", f"for\n{until_30}\n{told}: day 0 is\n{first}")
