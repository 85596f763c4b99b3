# wrong: values
"""It compares only paths that leave the same number of loops."""


def less_equal(p, q):
    more = p.count("e") - q.count("e")
    if more != 0:
        return False  # a counter that `p` keeps, and that `q` sets anew, can be as large as it likes
    mine, theirs = counts(p), [0] * more + counts(q)  # what `q` keeps is at least 0
    return all(one <= other for one, other in zip(mine, theirs, strict=True))


def counts(path):
    return [part.count("f") for part in path.split("i")]
