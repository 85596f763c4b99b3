"""Paths through loops compared letter by letter: 002's theorem, and the condition under which it holds."""

from ..errors import SummaryError
from ..loops import LoopSummary


def loop_condition(p: LoopSummary, q: LoopSummary) -> bool:
    """The strengthened loop condition of 002, for two paths between the same places.

    The path that rises higher must feed back at its highest level. Only then may their normal forms be compared as
    words.
    """
    if p.leaves == q.leaves:
        return True
    return (p if p.leaves > q.leaves else q).feedback > 0


def compare_words(p: LoopSummary, q: LoopSummary) -> int:
    """Compare normal forms as words, with i < f < e; return a negative number, zero or a positive one (002, theorem).

    Raises:
        SummaryError: the paths cannot lie between the same places, or do not meet the loop condition.

    >>> compare_words(LoopSummary(feedback=1), LoopSummary(leaves=1, feedback=1, enters=(0,))) < 0
    True
    """
    if len(p.enters) - p.leaves != len(q.enters) - q.leaves:
        raise SummaryError(f"{p!r} and {q!r} do not lead between the same loop contexts")
    if not loop_condition(p, q):
        raise SummaryError(f"{p!r} and {q!r} do not meet the loop condition: compare them with <=, not as words")
    ranks = {"i": 0, "f": 1, "e": 2}
    a, b = [ranks[letter] for letter in p.letters], [ranks[letter] for letter in q.letters]
    return (a > b) - (a < b)
