"""12.1 Is this report within the contract? Each claim needs a right from before, and what is given up was there."""

from collections import Counter


def within(held, outside, report):
    """Whether nothing comes from nothing, and nothing goes that was not there."""
    rights = [*held, *report.taken]
    claims = [*report.sent, *report.gained]
    gone = Counter(report.given_up) - Counter([*held, *report.gained])
    return not gone and all(any(right <= claim for right in rights) for claim in claims)
