# wrong: strict
"""It requires exactly the same time, although a right also covers later times."""


def within(held, outside, report):
    rights = [*held, *report.taken]
    claims = [*report.sent, *report.gained]
    return all(claim in rights for claim in claims) and all(
        (held + report.gained).count(time) >= report.given_up.count(time) for time in report.given_up
    )
