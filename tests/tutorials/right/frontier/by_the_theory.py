"""The query of the theory, of what is really there."""

from pullstream.timely import theory


def frontier(steps, counts):
    return theory.frontier(steps, set(), [stamp for stamp, count in counts.items() if count > 0])
