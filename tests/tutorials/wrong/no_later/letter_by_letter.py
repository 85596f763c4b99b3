# wrong: values
"""It compares the letters one by one, wherever they stand."""


def less_equal(p, q):
    return all("ife".index(one) <= "ife".index(other) for one, other in zip(p, q, strict=False))
