# wrong: strict
"""It gives up capabilities first and then checks what is held, so it acts on half of a report."""


def within(held, outside, report):
    left = list(held)
    for time in report.given_up:
        if time in left:
            left.remove(time)
        elif time not in report.gained:
            return False
    rights = [*left, *report.taken]
    return all(any(right <= claim for right in rights) for claim in [*report.sent, *report.gained])
