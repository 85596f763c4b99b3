"""The judge of `takings`: a run that is killed and started again must give the results of an undisturbed one."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import takings as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Read section 14.4: `records` keeps the highest takings of a day.",
        "Which state of your module survives a restart?",
        "`ctx.memory.at(batch.time)[item] = ctx.memory.get(item, 0) + price`, and no other state.",
    ),
    "resumed": (
        "Read section 14.4.",
        "The state is lost, or differs from the state when the day was complete. Where is it, and how is it changed?",
        "Use `ctx.memory`, with a number per item, and assign it anew: a change in place, or at a later time, is lost.",
    ),
    "JournalError": (
        "Read section 14.4.",
        "The journal cannot save your state: it pickles it, and needs the times of its changes, in order.",
        "Use plain values and keys, and `ctx.memory.at(batch.time)` with the time of the current batch.",
    ),
    "values": (
        "Read section 14.4.",
        "A sum is wrong even without a kill.",
        "Add this price to the item's sum; the sum continues from day to day.",
    ),
}

SALES = [
    (1, "tea", 3),
    (1, "rice", 5),
    (1, "tea", 2),
    (2, "rice", 1),
    (3, "tea", 4),
    (3, "salt", 1),
    (4, "salt", 2),
    (4, "tea", 1),
]


class Killed(Exception):
    """Stands in for the kill: the state of the run is lost, and its journal remains."""


def judge(answer, seeds):
    """Judge an answer."""
    takings = answer["takings"]
    gives_the_same(lambda: sales(takings), lambda: sales(solution.takings), limits=(1, 2, 1000))
    whole = days_of(takings, None)
    for moment in range(len(SALES)):
        got = days_of(takings, moment)
        for day, answers in whole.items():
            if got.get(day) != answers:
                sold = SALES[moment]
                raise Wrong(
                    "resumed",
                    f"killed at {sold[1]} for {sold[2]}, of day {sold[0]}, and started again, for day {day} it gave\n  "
                    f"{got.get(day)}\nand undisturbed it gives\n  {answers}",
                )
    subject = Subject("takings", takings, values=lambda n: ("tea", n + 1))
    keeps_the_rules(subject, answer.site("takings"), seeds)


def sales(takings, sold=lambda sale: sale):
    """Return the answers to all sales, each at its day."""
    timed = ps.values(SALES, time=lambda sale: sale[0])
    return ps.pipe(timed, ps.map(lambda sale: sale[1:]), ps.map(sold), takings())


def days_of(takings, moment):
    """Return the answers of each complete day, by a run that is killed at a sale, and then by another."""
    days = {}
    kills = [] if moment is None else [SALES[moment][1:]]

    def sold(sale):
        if sale in kills:
            kills.clear()
            raise Killed
        return sale

    with TemporaryDirectory() as folder:
        for _ in range(1 if moment is None else 2):
            try:
                pipeline = ps.pipe(sales(takings, sold), ps.at_completion(days.__setitem__))
                ps.run(pipeline, journal=ps.Journal(Path(folder) / "journal", version="1"), limit=1)
            except Killed:
                continue
    return days
