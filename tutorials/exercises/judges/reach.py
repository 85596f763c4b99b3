"""What is asked of `reach`: the fewest steps to each page, for every time by itself, whenever its pages come."""

from collections.abc import Mapping
from functools import partial

import trio

import pullstream as ps
from tutorials.exercises.solutions import reach as solution
from tutorials.judging import Wrong
from tutorials.judging.module import gives_the_same, seen
from tutorials.judging.steps import value_at

HINTS = {
    "": (
        "Chapter 11, piece 14: `wander` works round by round, too.",
        "What has to be known when a round is answered? What is known of pages, and for how long is it true?",
        "Keep what arrives by its time; at Completed(time) answer what is new at time.outer, and `ps.Again` its links.",
    ),
    "early": (
        "Chapter 11, pieces 13 and 14.",
        "A page was answered while a shorter way to it could still come. When is it known that none does?",
        "Answer a round at its Completed(time), and not at its batches: a page that comes in late is in round 0.",
    ),
    "bound": (
        "Chapter 11, piece 14.",
        "What goes round never becomes less: there are links in circles.",
        "Send on the links of pages that are new, and of no others.",
    ),
    "times": (
        "Chapter 11, piece 13: what is inside of a LoopTime?",
        "At another time the question is asked anew, and what was seen for one is not seen for the other.",
        "A set for each time outside: `seen.setdefault(time.outer, set())`.",
    ),
    "failure": (
        "Chapter 11, piece 13.",
        "A time that has no `outer` is not one of a loop; and `ps.Again` means something inside of one alone.",
        "`reach` gives `ps.loop(...)` of the module that answers `ps.Again`.",
    ),
}

PAGES = {
    "home": ["menu", "news"],
    "menu": ["tea", "home"],
    "tea": ["green", "menu"],
    "green": ["tea", "order"],
    "order": ["pay"],
    "pay": ["thanks"],
    "thanks": ["home"],
    "news": ["order"],
    "map": ["home", "map"],
}
ENOUGH = 1_000


class Links(Mapping):
    """Links that notice when somebody follows them for ever."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, page):
        self.asked += 1
        if self.asked > ENOUGH:
            raise Wrong("bound", f"of {len(PAGES)} pages it has asked for links {ENOUGH} times, and goes on")
        return PAGES[page]

    def __iter__(self):
        return iter(PAGES)

    def __len__(self):
        return len(PAGES)


FEW = [(0, "home")]
SEVERAL = [(0, "thanks"), (0, "green"), (0, "pay"), (0, "home")]
TIMES = [(0, "home"), (1, "green"), (1, "map"), (2, "pay"), (2, "pay")]
SIDE_BY_SIDE = [(0, "home"), (1, "thanks"), (0, "order"), (1, "map"), (3, "pay")]


def judge(answer, seeds):
    """Judge an answer."""
    reach = answer["reach"]
    for pages, seconds, kind in (
        (FEW, 0, "values"),
        (SEVERAL, 0, "values"),
        (SEVERAL, 1, "early"),
        (TIMES, 0, "times"),
        (SIDE_BY_SIDE, 1, "times"),
    ):
        asks = f"of {pages}, a second apart," if seconds else f"of {pages}"
        got, want = (answers(each, pages, seconds, asks) for each in (reach, solution.reach))
        for time in sorted(want.keys() | got.keys()):
            if got.get(time) != want.get(time):
                shown, right = (_shown(found.get(time, [])) for found in (got, want))
                happened = f"{asks} it gave at {time}\n  {shown}\nand should have given\n  {right}"
                # Of what is missing it is known at the end.
                at = value_at(sum(map(len, got.values())))
                raise Wrong(kind, happened, again=partial(answers, reach, pages, seconds, asks), at=at)
    gives_the_same(
        lambda: ps.pipe(asked(SIDE_BY_SIDE, 1), reach(Links()), ps.reduce_by_time(IN_ORDER)),
        lambda: ps.pipe(asked(SIDE_BY_SIDE, 1), solution.reach(Links()), ps.reduce_by_time(IN_ORDER)),
        times=(0, 1, 2, 3),
        limits=(1, 2, 1000),
    )


IN_ORDER = ps.Fold(list, lambda found, pair: sorted([*found, pair]))


@ps.source
async def rows(ctx, pages, seconds):
    """Times and pages."""
    for row in pages:
        await trio.sleep(seconds)
        yield row


def asked(pages, seconds):
    """Pages at their times, of which several are open side by side; all of them at once, or so many seconds apart."""
    stamped = ps.stamp(lambda row: row[0], lateness=1)
    return ps.pipe(rows(pages, seconds) if seconds else ps.values(pages), stamped, ps.map(lambda row: row[1]))


def answers(reach, pages, seconds, asks):
    """What comes out at each time: pairs, in order."""
    run = seen(ps.pipe(asked(pages, seconds), reach(Links())), limit=1000)
    if run.ending != "done":
        raise Wrong("failure", f"{asks} it failed: {run.ending}")
    found = {}
    for time, pair in run.values:
        if isinstance(pair, ps.Again):
            raise Wrong("values", f"{asks} {pair} came out, and did not go round: it was not inside of a loop")
        found.setdefault(time, []).append(pair)
    return {time: sorted(pairs) for time, pairs in found.items()}


def _shown(pairs):
    return ", ".join(f"{page} {steps}" for page, steps in pairs) or "nothing"
