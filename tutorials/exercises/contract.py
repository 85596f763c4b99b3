"""12.1 Is this report within the contract?

`within(held, outside, report)` returns True or False: whether an operator may report this. It has one input and one
output, and times do not change on the way. Everything in a report happens at once.

    held              the times of the capabilities it has held until now, a list: a time held twice is there twice
    outside           the earliest times at which the outside may still send it a message
    report.taken      the times of the messages that it has taken
    report.sent       the times of the messages that it has sent
    report.gained     the times of the capabilities that it has gained
    report.given_up   the times of the capabilities that it has given up

Times are compared with `<=`. For some pairs of times, neither is before the other.
"""


def within(held, outside, report):
    return all(time in report.taken for time in report.sent)  # and the capabilities? and those it held?
