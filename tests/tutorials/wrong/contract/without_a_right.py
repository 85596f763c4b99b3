# wrong: lax
"""It checks capabilities only, so messages may be sent at any time."""


def within(held, outside, report):
    rights = [*held, *report.taken]
    return all(any(right <= claim for right in rights) for claim in report.gained) and all(
        (held + report.gained).count(time) >= report.given_up.count(time) for time in report.given_up
    )
