"""What is asked of `takings`: that a run which is killed and started again gives what an undisturbed one does."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pullstream as ps
from pullstream.conformance import Subject
from tutorials.exercises.solutions import takings as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, keeps_the_rules

HINTS = {
    "": (
        "Chapter 14, piece 4: `records` keeps the most that a day has taken.",
        "What of your module is still there when it is started again?",
        "`ctx.memory.at(batch.time)[item] = ctx.memory.get(item, 0) + price`, and nothing kept beside it.",
    ),
    "resumed": (
        "Chapter 14, piece 4.",
        "What was kept is gone, or is not what it was when the day was done. Where is it kept, and how is it changed?",
        "In `ctx.memory`, a number an item, assigned anew: what is changed in place, or at a later time, is lost.",
    ),
    "JournalError": (
        "Chapter 14, piece 4.",
        "The journal cannot save what you keep: it is told at which time it changes, in order, and it pickles it.",
        "Plain values, under plain keys; and `ctx.memory.at(batch.time)`, with the time of the batch in your hands.",
    ),
    "values": (
        "Chapter 14, piece 4.",
        "Nobody has killed it, and a sum is not right.",
        "What the item had, and this price; from day to day it goes on.",
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
    """It stands for the kill: what the run knew is gone, and its journal is there."""


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
                    f"killed at {sold[1]} for {sold[2]}, of day {sold[0]}, and started again, it gave for day {day}\n  "
                    f"{got.get(day)}\nand undisturbed gives\n  {answers}",
                )
    subject = Subject("takings", takings, values=lambda n: ("tea", n + 1))
    keeps_the_rules(subject, answer.site("takings"), seeds)


def sales(takings, sold=lambda sale: sale):
    """The answers to all sales, each at its day."""
    timed = ps.values(SALES, time=lambda sale: sale[0])
    return ps.pipe(timed, ps.map(lambda sale: sale[1:]), ps.map(sold), takings())


def days_of(takings, moment):
    """What is told of each day when it is complete; by a run that is killed at a sale, and then by another."""
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
