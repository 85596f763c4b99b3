# wrong: lax strict
"""It compares with the least time it holds, as if all times were totally ordered."""

from pullstream.timely import sort_key


def within(held, outside, report):
    rights = sorted([*held, *report.taken], key=sort_key)
    claims = [*report.sent, *report.gained]
    covered = all(rights and sort_key(rights[0]) <= sort_key(claim) for claim in claims)
    return bool(covered) and all(
        (held + report.gained).count(time) >= report.given_up.count(time) for time in report.given_up
    )
