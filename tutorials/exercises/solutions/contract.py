"""12.1 Is this report within the contract? Each claim needs an earlier right; only held times are given up."""

from collections import Counter


def within(held, outside, report):
    """Return whether nothing comes from nothing, and only held capabilities are given up."""
    rights = [*held, *report.taken]
    claims = [*report.sent, *report.gained]
    gone = Counter(report.given_up) - Counter([*held, *report.gained])
    return not gone and all(any(right <= claim for right in rights) for claim in claims)
