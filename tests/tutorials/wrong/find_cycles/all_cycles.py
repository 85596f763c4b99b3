# wrong: values
"""It returns the steps of all cycles, including those that advance."""


def find_cycles(steps):
    pairs = {(start, end) for start, end, _ in steps}
    ways = closed(pairs)
    return {(start, end) for start, end in pairs if (end, start) in ways}


def closed(pairs):
    ways = set(pairs)
    while True:
        longer = ways | {(a, d) for a, b in ways for c, d in pairs if b == c}
        if longer == ways:
            return ways
        ways = longer
