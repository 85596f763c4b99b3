"""Every kind of summary on every kind of time: a path equals its steps in turn, and comparisons are sound."""

# ruff: noqa: SIM300, DTZ001, DTZ901 - comparisons are the subject, in every direction; and naive times, too

import itertools
import math
import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from tests.sampling import amount
from tests.timely.building import building
from timely import (
    BEGINNING,
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    CycleError,
    Delay,
    Lexicographic,
    LoopSummary,
    LoopTime,
    MapTime,
    NaiadSummary,
    NaiadTime,
    Product,
    Source,
    SummaryError,
    Target,
    TimeDomainError,
    less_equal,
)
from timely.products import Componentwise
from timely.summary import Path
from timely.theory import CallTime, CheckedTracker
from timely.theory.model import Body

HOURS, DAY, DAYS = timedelta(hours=12), timedelta(days=1), timedelta(days=1, hours=18)
FLOATS = [0.0, 0.1, 0.3, 9.7, 1.0, 4.0000000000000009, 2.0**53, 1e16, 1e300, 1.7e308, -0.1, -2.5]
INTS = [0, 1, 2, 5, -3, 2**53 + 1, 2**54, 10**30]
SMALL = [0, 1, 5, -3, 2**40, 0.1, 9.7, 4.0000000000000009, -2.5]
FRACTIONS = [Fraction(1, 3), Fraction(-5, 7), Fraction(10**20, 3)]
DECIMALS = [Decimal("0.1"), Decimal("9.7"), Decimal("1." + "0" * 30 + "1"), Decimal("1E+40"), Decimal(-3)]
DATES = [date(2013, 1, 1), date(2013, 1, 2), date.max, date.max - DAY, date.min]
DATETIMES = [datetime(2013, 1, 1), datetime(2013, 1, 1, 12), datetime.max, datetime.max - HOURS]
AWARE = [moment.replace(tzinfo=UTC) for moment in DATETIMES]
TIMEDELTAS = [timedelta(), HOURS, DAY, timedelta.max]
BODY = Body((), ("c",), (("in", "c"), ("c", "out"), ("in", "out")))
CALLS = [CallTime(BODY, "in", stack) for stack in ((), ("c",), ("c", "c"))]
SETS = [frozenset(text) for text in ("", "a", "b", "ab")]

WHOLE = [0, 1, 2, 3, 2**53 + 1]
ROUNDED = [0.0, 1, 2, 0.1, 0.7, 1.0, 1e-9, 1e16]
DURATIONS = [timedelta(), HOURS, DAY, DAYS, timedelta(microseconds=1), timedelta(days=400)]


def _delays(steps, limits):
    return [Delay(step) for step in steps] + [Delay(step, limit) for step in steps[1:5] for limit in limits]


FUNCTIONS = [
    IDENTITY,
    MapTime(lambda t: max(t, 7)),
    MapTime(math.ceil, converts=True),
    MapTime(lambda t: t // 2, converts=True),
]
CALENDAR = [
    IDENTITY,
    *_delays(DURATIONS, [date.max, date(2013, 1, 2)]),
    MapTime(lambda t: t.replace(day=28) if t.day < 28 else t),
    MapTime(lambda t: t.replace(day=1), converts=True),
]
CLOCK = [IDENTITY, *_delays(DURATIONS, [datetime.max, datetime(2013, 1, 2)]), MapTime(lambda t: t, strict=False)]
PARTS = [Delay(1), Delay(0.1), Delay(0.7), IDENTITY, Delay(1, limit=3), MapTime(lambda t: max(t, 4))]
PAIRS = [IDENTITY, *(Componentwise((a, b)) for a, b in itertools.product(PARTS, PARTS))]
WORDS = ["e", "i", "f", "ef", "if", "ei", "efi", "eif", "ff"]

DOMAINS = {
    "integers": (INTS, [*FUNCTIONS, *_delays(WHOLE, [5, 6, 9])]),
    "floats": (FLOATS, [*FUNCTIONS, *_delays(ROUNDED, [5, 1.0, 1.6, 10.4, 1e16])]),
    "integers and floats": (SMALL, [*FUNCTIONS, *_delays(ROUNDED[:-1], [5, 1.0, 9])]),
    "fractions": ([*INTS, *FRACTIONS], [*FUNCTIONS, *_delays([*WHOLE, Fraction(1, 3)], [5, 6, 9])]),
    "decimals": (DECIMALS, [*FUNCTIONS, *_delays([0, 1, Decimal("0.7"), Decimal("1e-35")], [5, Decimal("10.4")])]),
    "dates": (DATES, CALENDAR),
    "datetimes": (DATETIMES, CLOCK),
    "aware datetimes": (AWARE, [IDENTITY, *_delays(DURATIONS, [])]),
    "durations": (TIMEDELTAS, [IDENTITY, *_delays(DURATIONS, [DAY])]),
    "products": ([Product(a, b) for a in (0, 1, 9.7) for b in (0, 2, 9.7, 10**30)], PAIRS),
    "lexicographic": ([Lexicographic(a, b) for a in (0, 1, 3, 4) for b in (0, 3, 4)], PAIRS),
    "lexicographic floats": ([Lexicographic(a, b) for a in (1.0, 1 + 2**-52, 9.7) for b in (0, 5)], PAIRS),
    "loops": (
        [LoopTime(5, (a, b)) for a in (0, 2) for b in (0, 3)] + [LoopTime(2, (1, 0))],
        [IDENTITY, *map(LoopSummary.word, WORDS), MapTime(lambda t: t, strict=False)],
    ),
    "one loop": ([3, LoopTime(3, (0,)), LoopTime(3, (4,))], [IDENTITY, ENTER, LEAVE, FEEDBACK, Delay(1)]),
    "naiad": (
        [NaiadTime(5, (a, b)) for a in (0, 2) for b in (0, 3)],
        [IDENTITY, *map(NaiadSummary.word, WORDS), *map(LoopSummary.word, WORDS)],
    ),
    "product order, naiad's summaries": (
        [LoopTime(5, (a, b)) for a in (0, 2) for b in (0, 3)],
        [*map(NaiadSummary.word, WORDS), *map(LoopSummary.word, WORDS)],
    ),
    "calls": (
        CALLS,
        [IDENTITY, MapTime(lambda t: CallTime(BODY, "in", (*t.stack, "c"))), MapTime(lambda t: t)],
    ),
    "sets": (SETS, [IDENTITY, MapTime(lambda t: t | {"a"}), MapTime(lambda t: t | {"b"}), MapTime(len, converts=True)]),
    "strings": (["", "a", "b"], [IDENTITY, MapTime(lambda t: max(t, "b")), MapTime(len, converts=True)]),
}
REFUSED = "refused"
NEVER = "never"


def outcome(summary, time):
    """The resulting time, NEVER, or REFUSED."""
    try:
        later = summary.results_in(time)
    except (SummaryError, TypeError, AttributeError, ArithmeticError):
        return REFUSED  # also if a given function does not fit such times
    return NEVER if later is None else later


def in_turn(summaries, time):
    for summary in summaries:
        time = outcome(summary, time)
        if time in (REFUSED, NEVER):
            return time
    return time


def below(early, late):
    """Whether an outcome is at or before another; NEVER is the latest."""
    return late == NEVER or (early != NEVER and less_equal(early, late))


@pytest.mark.parametrize("domain", [domain for domain in DOMAINS if domain != "product order, naiad's summaries"])
def test_a_path_equals_its_steps_in_turn(domain):
    """For chains of up to four steps and every time: the same time, NEVER for both, or a refusal.

    (Naiad's summaries refuse times in the product order, but entering and leaving cancel out, and then cannot refuse.)
    """
    times, summaries = DOMAINS[domain]
    rng = random.Random(1)
    chains = [(a, b) for a in summaries for b in summaries]
    chains += [tuple(rng.choices(summaries, k=rng.randrange(3, 5))) for _ in range(amount(150, 400))]
    compared = 0
    for chain in chains:
        cut = rng.randrange(1, len(chain))
        whole = chain[0]
        for step in chain[1:]:
            whole = whole.followed_by(step)
        halves = Path.of(*chain[:cut]).followed_by(Path.of(*chain[cut:]))
        for time in [*times, BEGINNING]:
            expected = in_turn(chain, time)
            found = outcome(whole, time)
            assert found in (expected, REFUSED), (chain, time)
            assert type(found) is type(expected) or found == REFUSED
            assert outcome(halves, time) == found
            compared += found != REFUSED
    assert compared > len(chains)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("domain", DOMAINS)
def test_comparisons_of_paths_are_sound(domain):
    times, summaries = DOMAINS[domain]
    rng = random.Random(2)
    paths = list(summaries) + [
        a.followed_by(b) for a, b in (rng.choices(summaries, k=2) for _ in range(amount(50, 120)))
    ]
    claims = 0
    for p, q in itertools.product(paths, paths):
        if not p <= q:
            continue
        for time in times:
            early, late = outcome(p, time), outcome(q, time)
            if REFUSED in (early, late):
                continue
            assert below(early, late), (p, q, time, early, late)
            claims += p is not q
    assert claims > len(paths)


@pytest.mark.parametrize("domain", DOMAINS)
def test_paths_are_monotone_and_advancing_ones_never_go_back(domain):
    times, summaries = DOMAINS[domain]
    rng = random.Random(3)
    for path in [*summaries, *(Path.of(*rng.choices(summaries, k=3)) for _ in range(150))]:
        outcomes = [(time, outcome(path, time)) for time in times]
        for (a, out_a), (b, out_b) in itertools.product(outcomes, outcomes):
            if REFUSED in (out_a, out_b) or type(a) is not type(b) or not _comparable(a, b):
                continue
            assert not a <= b or below(out_a, out_b), (path, a, b)
            if path.advances and path.up == path.down and out_a != NEVER:
                assert less_equal(a, out_a), (path, a)


def _comparable(a, b):
    try:
        return less_equal(a, b) or less_equal(b, a)
    except TimeDomainError:
        return False


def test_half_a_day_is_no_advance_among_dates():
    """Two nodes feed each other, one with a delay of half a day."""
    graph = building(
        {"merge": (2, 1), "later": Delay(HOURS), "source": (0, 1)},
        [(Source(2), Target(0, 0)), (Source(0), Target(1)), (Source(1), Target(0, 1))],
    ).build()
    start, later, back = map(graph.place, (Source(2), Target(1), Target(0, 1)))

    def observed(begin):
        tracker = CheckedTracker(graph)
        tracker.observe(later)
        tracker.observe(back)
        tracker.update(start, begin, 1)
        return tracker

    with pytest.raises(CycleError, match=r"later, input.*does not strictly advance time"):
        observed(date(2013, 1, 1)).propagate()
    begin = datetime(2013, 1, 1)
    tracker = observed(begin)
    tracker.propagate()
    assert tracker.frontier(back).elements == (begin + HOURS,)
    tracker.update(start, begin, -1)
    tracker.propagate()
    assert not tracker.frontier(back).elements


def test_a_step_to_another_domain_is_no_advance():
    """It might go back in its own domain, so it is above no other path, and never strict."""
    back = MapTime(lambda t: t // 60, converts=True)
    assert not IDENTITY <= back
    assert not IDENTITY <= Delay(1).followed_by(back)
    assert not Delay(1).followed_by(back).strict
    assert not Componentwise((back, Delay(1))).strict
