"""Claims first, while all that was held is still there; then what goes is crossed off."""


def within(held, outside, report):
    for claim in report.sent + report.gained:
        for right in held + report.taken:
            if right <= claim:
                break
        else:
            return False
    left = held + report.gained
    for time in report.given_up:
        if time not in left:
            return False
        left.remove(time)
    return True
