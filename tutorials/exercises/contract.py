"""12.1 Is this report within the contract?

`within(held, outside, report)` says, by True or False, whether an operator may report this. It has one input and one
output, and times leave as they came. All that a report tells has happened at once.

    held              the times at which it has held capabilities until now, a list: two at one time are there twice
    outside           the least times at which the outside may still send it something
    report.taken      the times of the messages that it has taken
    report.sent       the times of the messages that it has sent
    report.gained     the times of the capabilities that it has gained
    report.given_up   the times of those that it has given up

Times are compared by `<=`, and there are some of which neither is before the other.
"""


def within(held, outside, report):
    return all(time in report.taken for time in report.sent)  # and the capabilities? and those that it has?
