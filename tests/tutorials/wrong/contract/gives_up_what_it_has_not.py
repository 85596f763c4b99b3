# wrong: lax
"""It does not check whether it holds the capabilities that it gives up."""


def within(held, outside, report):
    rights = [*held, *report.taken]
    return all(any(right <= claim for right in rights) for claim in [*report.sent, *report.gained])
