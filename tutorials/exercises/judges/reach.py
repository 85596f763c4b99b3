"""The judge of `reach`: the fewest steps to each page, for each time separately, whenever its pages come."""

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
        "Read section 11.14: `wander` works round by round, too.",
        "What must you know to answer a round? What do you store about pages, and for how long is it valid?",
        "Store pages by time. At Completed(time), answer those that are new at time.outer, and `ps.Again` their links.",
    ),
    "early": (
        "Read sections 11.13 and 11.14.",
        "A page was answered while a shorter path to it could still come. When is it certain that none can?",
        "Answer a round at its Completed(time), not at its batches: a page that enters late is in round 0.",
    ),
    "bound": (
        "Read section 11.14.",
        "Pages go round forever, because there are circles of links.",
        "Send the links of new pages only.",
    ),
    "times": (
        "Read section 11.13: what does a LoopTime contain?",
        "Each time is a separate question: a page seen at one time is not yet seen at another.",
        "A set for each time outside: `seen.setdefault(time.outer, set())`.",
    ),
    "failure": (
        "Read section 11.13.",
        "A time without `outer` is not in a loop, and `ps.Again` has a meaning only inside a loop.",
        "`reach` returns `ps.loop(...)` of the module that answers `ps.Again`.",
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
    """Links that raise when they are looked up forever."""

    def __init__(self):
        self.asked = 0

    def __getitem__(self, page):
        self.asked += 1
        if self.asked > ENOUGH:
            raise Wrong("bound", f"it has looked up links {ENOUGH} times for {len(PAGES)} pages, and goes on")
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
        asks = f"for {pages}, a second apart," if seconds else f"for {pages}"
        got, want = (answers(each, pages, seconds, asks) for each in (reach, solution.reach))
        for time in sorted(want.keys() | got.keys()):
            if got.get(time) != want.get(time):
                shown, right = (_shown(found.get(time, [])) for found in (got, want))
                happened = f"{asks} it gave at {time}\n  {shown}\nand should have given\n  {right}"
                # A missing value is noticed at the end.
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
    """Yield times and pages."""
    for row in pages:
        await trio.sleep(seconds)
        yield row


def asked(pages, seconds):
    """Return pages at their times, several of which are open at once; all together, or `seconds` apart."""
    stamped = ps.stamp(lambda row: row[0], lateness=1)
    return ps.pipe(rows(pages, seconds) if seconds else ps.values(pages), stamped, ps.map(lambda row: row[1]))


def answers(reach, pages, seconds, asks):
    """Return the sorted pairs that come out at each time."""
    run = seen(ps.pipe(asked(pages, seconds), reach(Links())), limit=1000)
    if run.ending != "done":
        raise Wrong("failure", f"{asks} it failed: {run.ending}")
    found = {}
    for time, pair in run.values:
        if isinstance(pair, ps.Again):
            raise Wrong("values", f"{asks} {pair} came out and did not go round: the module was not inside a loop")
        found.setdefault(time, []).append(pair)
    return {time: sorted(pairs) for time, pairs in found.items()}


def _shown(pairs):
    return ", ".join(f"{page} {steps}" for page, steps in pairs) or "nothing"
