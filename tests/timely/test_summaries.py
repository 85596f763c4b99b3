"""Path summaries: the monoid of loops over all words to length 7 (002), and the laws of every other summary."""

import itertools
from datetime import date, timedelta

import pytest

from tests.sampling import amount
from timely import (
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    Delay,
    Lexicographic,
    LoopSummary,
    LoopTime,
    MapTime,
    NaiadSummary,
    NaiadTime,
    Product,
    SummaryError,
)
from timely.products import Componentwise
from timely.theory import compare_words, loop_condition

LIMITED = Componentwise((MapTime(lambda t: max(t, 7)), IDENTITY))
WORDS = ["".join(word) for n in range(8) for word in itertools.product("eif", repeat=n)]


def act(word, counters):
    """Apply a word letter by letter to a vector of counters; None if a letter is undefined."""
    for letter in word:
        if letter == "i":
            counters = (*counters, 0)
        elif not counters:
            return None
        elif letter == "e":
            counters = counters[:-1]
        else:
            counters = (*counters[:-1], counters[-1] + 1)
    return counters


def rewrite(word):
    """The two rules ie = 1 and fe = e, applied until nothing changes."""
    while "ie" in word or "fe" in word:
        word = word.replace("ie", "", 1) if "ie" in word else word.replace("fe", "e", 1)
    return word


def letters(summary):
    return "" if summary == IDENTITY else summary.letters


def test_normal_forms_of_all_words_equal_rewriting():
    for word in WORDS:
        normal = letters(LoopSummary.word(word))
        assert normal == rewrite(word)
        assert letters(LoopSummary.word(normal)) == normal
    assert len(WORDS) == 3280


def comparable_pairs(longest):
    """Normal forms between the same contexts."""
    forms = sorted({rewrite(word) for word in WORDS if len(word) <= longest})
    for p, q in itertools.product(forms, forms):
        if p.count("i") - p.count("e") == q.count("i") - q.count("e"):
            yield p, q


def brute(p, q, below):
    """Whether p is at or below q on every vector over {0..4} that is just long enough (plus one)."""
    deepest = max(p.count("e"), q.count("e")) + 1
    return all(below(act(p, v), act(q, v)) for v in itertools.product(range(5), repeat=deepest))


def test_comparison_is_pointwise_in_both_orders():
    orders = {
        LoopSummary: lambda a, b: all(x <= y for x, y in zip(a, b, strict=True)),
        NaiadSummary: lambda a, b: a <= b,
    }
    number = 0
    for p, q in comparable_pairs(4):
        for kind, below in orders.items():
            assert (kind.word(p) <= kind.word(q)) == brute(p, q, below), (kind, p, q)
            number += 1
    assert number > 1000


def test_words_decide_if_the_loop_condition_holds():
    """With 002's stronger condition, comparing normal forms as words is Naiad's order on paths, and total."""
    checked = 0
    for p, q in comparable_pairs(amount(5, 6)):
        a, b = (
            LoopSummary(w.count("e"), len(w.split("i")[0].replace("e", "")), tuple(len(x) for x in w.split("i")[1:]))
            for w in (p, q)
        )
        if not loop_condition(a, b):
            with pytest.raises(SummaryError, match="loop condition"):
                compare_words(a, b)
            continue
        sign = compare_words(a, b)
        assert (NaiadSummary.word(p) <= NaiadSummary.word(q)) == (sign <= 0)
        assert (NaiadSummary.word(q) <= NaiadSummary.word(p)) == (sign >= 0)
        checked += 1
    assert checked > 500


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LEAVE.results_in(3), "leaves 1 loops"),
        (lambda: FEEDBACK.results_in(date(2013, 1, 1)), "outside any loop"),
        (lambda: NaiadSummary.word("f").results_in(LoopTime(3, (1,))), "make it a NaiadTime"),
        (lambda: Delay(1).results_in("monday"), "cannot add the step 1 to the time 'monday'"),
        (lambda: LoopSummary.word("x"), "'x'"),
        (lambda: LoopSummary(feedback=-1), "negative"),
        # So a +1/-1 cycle cannot even be built.
        *((lambda step=step: Delay(step), "backwards") for step in (-1, timedelta(-1), -0.5)),
        # A function cannot be checked in advance, so each result is.
        (lambda: MapTime(lambda t: t - 1).results_in(3), "backwards"),
        (lambda: MapTime(lambda t: max(t, 7), strict=True).results_in(8), "strict"),
        (lambda: MapTime(str, strict=True, converts=True), "domains"),
        # If different first parts may become equal, the second part could go back.
        (lambda: LIMITED.results_in(Lexicographic(1, 5)), "lexicographic"),
        (
            lambda: Componentwise((IDENTITY, Delay(1, limit=3))).results_in(Lexicographic(1, 5)),
            "only the first part of a lexicographic time may have a limit",
        ),
        # A rounded sum is never taken for an earlier time.
        (lambda: Delay(0.5).results_in(2**53 + 1), "exactly"),
    ],
)
def test_invalid_steps_are_refused(make, words):
    with pytest.raises(SummaryError, match=words):
        make()


def test_valid_steps_are_allowed():
    assert NaiadSummary.word("if").results_in(NaiadTime(3)) == NaiadTime(3, (1,))
    assert LEAVE.results_in(ENTER.results_in(date(2013, 1, 1))) == date(2013, 1, 1)
    assert MapTime(str, converts=True).results_in(3) == "3"
    assert LIMITED.results_in(Product(1, 5)) == Product(7, 5)
    assert Delay(0.0).results_in(2**53 + 1) == 2**53 + 1
