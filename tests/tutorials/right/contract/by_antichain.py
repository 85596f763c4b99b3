"""The least times of what gives a right are an antichain."""

from collections import Counter

from pullstream.timely import Antichain


def within(held, outside, report):
    rights = Antichain([*held, *report.taken])
    if not all(rights.less_equal(time) for time in (*report.sent, *report.gained)):
        return False
    had = Counter(held) + Counter(report.gained)
    return all(had[time] >= number for time, number in Counter(report.given_up).items())
