"""Multi-time batches: a module processes one as it does one time after another, at every limit.

`test_programs.py` does the same with random programs of ready-made modules; this file has notified kernels, and times
without a place or a join.
"""

import functools
import itertools
import random
from collections import Counter

import attrs
import pytest

import pullstream as ps
from pullstream.authoring import Traits
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.parts.eventful import Eventful
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.traits import PROMPT
from tests.pullstream.common import Cut, until_failure
from timely import Product, TimeDomainError

LIMITS = (1, 2, 7, 4096)

TIMES = {
    "int": lambda n: n,
    "int and float": lambda n: n / 2 if n % 2 else n // 2,
    "one": lambda n: 7,
    "product": lambda n: Product(n // 4, n % 4),
    "frozenset": lambda n: frozenset(range(n % 5)) | {100 + n // 7},
}
"""Times made of numbers that mostly rise."""


class Strike(Exception):
    """The failure of a kernel."""


@ps.source
class Rows(ps.authoring.Kernel):
    """Answers rows at the times that they begin with, and holds exactly the times of the remaining ones."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, rows):
        self._rows = rows
        self._left = Backlog(self)

    async def acquire(self):
        self._left.put(ps.Batch.of([row[0] for row in self._rows], list(self._rows)))
        self._left.end(ps.DONE)
        self.location.drop_capability()

    async def produce(self, limit):
        return self._left.answer(limit)


@ps.transformer
class Known(PassOn):
    """Answers rows at the times that they name, without waiting, and holds the remaining ones."""

    traits = attrs.evolve(PROMPT, summaries=((),))

    def __init__(self, times):
        self.left = Counter(times)

    def placed(self):
        for time in self.left:
            self.location.hold(time)

    def answer(self, batch):
        times = [row[0] for row in batch.values]
        for time in times:
            self.left[time] -= 1
            if not self.left[time]:
                self.location.drop(time)
        return ps.Batch.of(times, batch.values)


def rows_of(rng, domain):
    """Rows (time, letter, number) whose times jump back by a random amount, or not at all."""
    jitter, slow = rng.choice([0, 0, 3, 20]), rng.choice([1, 1, 3])
    return [(TIMES[domain](n // slow + rng.randint(0, jitter)), "a", n) for n in range(rng.randrange(80))]


# ---- times that have no place, or no join


@attrs.frozen(order=False)
class Corner:
    """A time of two parts, ordered componentwise; two of them have no join."""

    parts: tuple

    def __le__(self, other):
        return all(mine <= theirs for mine, theirs in zip(self.parts, other.parts, strict=True))


padded = functools.partial(ps.zip, mode="padded")


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize(
    ("module", "one", "other", "joined"),
    [
        (ps.zip, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 2)]),
        (ps.zip, [(0, 1)], [(1, 0)], []),
        (padded, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 2)]),
        (ps.combine_latest, [(0, 0), (1, 1), (2, 3)], [(0, 0), (1, 2), (3, 2)], [(0, 0), (1, 1), (1, 2), (2, 3)]),
        (ps.combine_latest, [(0, 1)], [(1, 0)], []),
    ],
)
def test_rows_before_unjoinable_times_are_answered(module, one, other, joined, limit):
    inputs = [Rows([(Corner(parts),) for parts in each]) for each in (one, other)]
    joins = ps.pipe(module(*inputs), ps.timed())
    log, failure = until_failure(TimeDomainError, joins, match="no join", limit=limit, check="strict")
    assert any(note.startswith(("raised in zip", "raised in combine_latest")) for note in failure.__notes__)
    assert [time.parts for time, _ in log] == joined


# ---- kernels that are notified


class Noting(Notified):
    """Notes every call, and answers, forgets, fails or ends in either, depending on the numbers of the values."""

    def __init__(self, calls, bad):
        super().__init__()
        self.calls = calls
        self.bad = bad
        self.kept = {}

    def receive(self, batch):
        for part in self.apart(batch):
            self.note(part.time, part.values)

    def note(self, time, values):
        self.calls.append(("receive", time))
        for _, _, n in values:
            if n % 7 == 6:
                self.give(time, [("at once", n)])
            if n == self.bad:
                raise Strike(n)
            if time not in self.kept:
                if n % 3:
                    self.notify(time, time)
                else:
                    self.remind(time, before=n % 2 == 0)
                self.kept[time] = []
            self.kept[time].append(n)
            if n % 5 == 4:
                self.forget(time)
                del self.kept[time]

    def complete(self, time):
        self.calls.append(("complete", time))
        kept = self.kept.pop(time)
        if -self.bad in kept:
            raise Strike(kept)
        if any(n % 3 for n in kept):
            self.give(time, [("complete", n) for n in kept])
        if 50 in kept and self.bad == 1000:
            self.stop()


noting = ps.transformer(Noting)


def outcome(rows, module, *, cut, limit):
    """The results for rows, with their times, and whether it fails."""
    results, failed = [], False
    modules = [ps.values(rows), Known([row[0] for row in rows]), *[Cut()] * cut, module, ps.timed()]
    try:
        ps.run(ps.pipe(*modules, ps.drain(results.append)), limit=limit)
    except Strike:
        failed = True
    return results, failed


@pytest.mark.parametrize("domain", TIMES)
@pytest.mark.parametrize("ending", ["the end", "receive", "complete", "stop"])
def test_runs_and_completions_come_in_the_same_order_as_cut(domain, ending, no_clocks):
    for seed in range(2):
        rng = random.Random(f"{seed} {domain} {ending}")
        rows = [*rows_of(rng, domain), (TIMES[domain](90), "a", 80)]
        n = rng.choice(rows)[2]
        bad = {"the end": 81, "receive": n, "complete": -n, "stop": 1000}[ending]
        for limit in LIMITS:
            seen = []
            for cut in (True, False):
                calls = []
                results = outcome(rows, noting(calls, bad), cut=cut, limit=limit)
                seen.append(([call for call, before in itertools.pairwise([*calls, None]) if call != before], results))
            assert seen[0] == seen[1], (seed, limit)


@pytest.mark.parametrize(
    ("module", "kept", "most"),
    [
        (ps.pipe(*[ps.count_by_key()] * 3), 10_000, 200),
        (ps.unique_by_time(lambda n: 1 // (n % 10), on_error="skip"), 9_000, 100),
    ],
    ids=str,
)
def test_times_that_complete_together_cost_one_look(module, kept, most, no_clocks, monkeypatch):
    looks = []
    look = Eventful._look
    monkeypatch.setattr(Eventful, "_look", lambda self, times: looks.append(times) or look(self, times))
    assert len(ps.run(ps.pipe(ps.values(range(10_000), time=int), module, ps.collect()), limit=1000)) == kept
    assert 0 < len(looks) < most
