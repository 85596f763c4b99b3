"""Depth by depth: what never comes higher, without what is fed back there, and of that what comes round to there."""


def find_cycles(steps):
    deep = depths(steps)
    found = set()
    for depth in set(deep.values()):
        below = {
            (start, end)
            for start, end, summary in steps
            if deep[start] - summary.up >= depth and not (deep[start] - summary.up == depth and summary.strict)
        }
        ways = closed(below)
        here = {place for place in deep if deep[place] == depth}
        rounds = {(a, b) for a, b in ways if any((b, top) in ways and (top, a) in ways for top in here)}
        found |= {(a, b) for a, b in below if (b, a) in rounds or (a == b and a in here)}
    return found


def closed(pairs):
    ways = set(pairs)
    while True:
        longer = ways | {(a, d) for a, b in ways for c, d in pairs if b == c}
        if longer == ways:
            return ways
        ways = longer


def depths(steps):
    """How deep each place is, next to those that it is connected with."""
    deep = {}
    for first, _, _ in steps:
        agenda = [] if first in deep else [(first, 0)]
        for place, depth in agenda:
            if place not in deep:
                deep[place] = depth
                agenda += [(b, depth - s.up + s.down) for a, b, s in steps if a == place]
                agenda += [(a, depth + s.up - s.down) for a, b, s in steps if b == place]
    return deep
