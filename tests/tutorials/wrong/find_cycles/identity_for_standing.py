# wrong: values
"""It takes what differs from the identity for what advances: in and out again is neither."""

from pullstream.timely import IDENTITY


def find_cycles(steps):
    standing = {(start, end) for start, end, summary in steps if summary == IDENTITY}
    ways = closed(standing)
    return {(start, end) for start, end in standing if (end, start) in ways}


def closed(pairs):
    ways = set(pairs)
    while True:
        longer = ways | {(a, d) for a, b in ways for c, d in pairs if b == c}
        if longer == ways:
            return ways
        ways = longer
