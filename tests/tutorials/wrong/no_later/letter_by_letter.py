# wrong: values
"""It compares the letters one by one, whatever their positions mean."""


def less_equal(p, q):
    return all("ife".index(one) <= "ife".index(other) for one, other in zip(p, q, strict=False))
