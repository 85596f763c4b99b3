# wrong: lax
"""It accepts any message as a right, even a later one."""


def within(held, outside, report):
    rights = held
    claims = [*report.sent, *report.gained]
    return all(report.taken or any(right <= claim for right in rights) for claim in claims) and all(
        (held + report.gained).count(time) >= report.given_up.count(time) for time in report.given_up
    )
