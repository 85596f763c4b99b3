"""The summaries of the theory are compared so."""

from pullstream.timely import LoopSummary


def less_equal(p, q):
    return LoopSummary.word(p) <= LoopSummary.word(q)
