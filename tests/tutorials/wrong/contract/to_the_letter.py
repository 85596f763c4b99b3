# wrong: strict
"""It requires a message for each claim, as in the published text, and ignores capabilities already held."""


def within(held, outside, report):
    rights = report.taken
    claims = [*report.sent, *report.gained]
    return all(any(right <= claim for right in rights) for claim in claims) and all(
        (held + report.gained).count(time) >= report.given_up.count(time) for time in report.given_up
    )
