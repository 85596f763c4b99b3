# wrong: values
"""It counts any feedback as an advance, although a loop's counter is dropped when the loop is left."""


def find_cycles(steps):
    standing = {(start, end) for start, end, summary in steps if not summary.strict}
    ways = closed(standing)
    return {(start, end) for start, end in standing if (end, start) in ways}


def closed(pairs):
    ways = set(pairs)
    while True:
        longer = ways | {(a, d) for a, b in ways for c, d in pairs if b == c}
        if longer == ways:
            return ways
        ways = longer
