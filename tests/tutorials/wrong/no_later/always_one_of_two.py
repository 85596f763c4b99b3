# wrong: values
"""It decides by the first difference alone, so that of two paths one is always no later."""


def less_equal(p, q):
    more = p.count("e") - q.count("e")
    if more < 0:
        return not less_equal(q, p)  # a counter that `p` keeps, and that `q` sets anew, can be as large as it likes
    mine, theirs = counts(p), [0] * more + counts(q)  # what `q` keeps is at least 0
    return mine <= theirs


def counts(path):
    return [part.count("f") for part in path.split("i")]
