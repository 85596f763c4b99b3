"""9.3 Which path is no later? Compare counter by counter those that the longer way up replaces."""


def less_equal(p, q):
    """Return whether `p` never gives a later time than `q`."""
    more = p.count("e") - q.count("e")
    if more < 0:
        return False  # a counter that `p` keeps and `q` replaces can be arbitrarily large
    mine, theirs = counts(p), [0] * more + counts(q)  # a counter that `q` keeps is at least 0
    return all(one <= other for one, other in zip(mine, theirs, strict=True))


def counts(path):
    """Return the increments: of the counter at the top of a path, and of the loops entered there."""
    return [part.count("f") for part in path.split("i")]
