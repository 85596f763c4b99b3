"""Counters at 0, or larger than any path of these makes one: what holds of them holds of all."""

from itertools import product


def through(path, time):
    time = list(time)
    for letter in path:
        if letter == "e":
            time.pop()
        elif letter == "f":
            time[-1] += 1
        else:
            time.append(0)
    return time


def less_equal(p, q):
    large = len(p) + len(q) + 1
    depth = max(p.count("e"), q.count("e")) + 1
    return all(
        one <= other
        for time in product((0, large), repeat=depth)
        for one, other in zip(through(p, time), through(q, time), strict=True)
    )
