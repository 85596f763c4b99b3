# wrong: lax
"""It treats times that the outside may still send as a right: an echo."""


def within(held, outside, report):
    rights = [*held, *outside, *report.taken]
    claims = [*report.sent, *report.gained]
    return all(any(right <= claim for right in rights) for claim in claims) and all(
        (held + report.gained).count(time) >= report.given_up.count(time) for time in report.given_up
    )
