# wrong: values
"""It compares words, i before f before e: then `ei` comes after nothing, though it never gives a later time."""


def less_equal(p, q):
    return ["ife".index(letter) for letter in p] <= ["ife".index(letter) for letter in q]
