# wrong: values
"""It compares only the outermost counter, so that two paths can each be no later than the other."""


def less_equal(p, q):
    more = p.count("e") - q.count("e")
    if more < 0:
        return False  # a counter that `p` keeps, and that `q` sets anew, can be as large as it likes
    mine, theirs = counts(p)[:1], ([0] * more + counts(q))[:1]  # what `q` keeps is at least 0
    return all(one <= other for one, other in zip(mine, theirs, strict=True))


def counts(path):
    return [part.count("f") for part in path.split("i")]
