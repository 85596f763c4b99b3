"""9.3 Which path is no later? Counter by counter, of those that the path which leaves more loops sets anew."""


def less_equal(p, q):
    """Whether `p` never gives a later time than `q`."""
    more = p.count("e") - q.count("e")
    if more < 0:
        return False  # a counter that `p` keeps, and that `q` sets anew, can be as large as it likes
    mine, theirs = counts(p), [0] * more + counts(q)  # what `q` keeps is at least 0
    return all(one <= other for one, other in zip(mine, theirs, strict=True))


def counts(path):
    """What is added to the counter at the top of a path, and what the counters of the loops entered there are."""
    return [part.count("f") for part in path.split("i")]
