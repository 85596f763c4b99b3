# wrong: values
"""It compares words with i < f < e: then `ei` comes after the empty word, although it never gives a later time."""


def less_equal(p, q):
    return ["ife".index(letter) for letter in p] <= ["ife".index(letter) for letter in q]
