# wrong: lax
"""It does not count what is given up."""


def within(held, outside, report):
    rights = [*held, *report.taken]
    return all(any(right <= claim for right in rights) for claim in [*report.sent, *report.gained])
