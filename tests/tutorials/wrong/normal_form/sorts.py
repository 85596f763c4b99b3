# wrong: values
"""It sorts the letters, as if their order did not matter."""


def normal_form(word):
    ups, downs = word.count("e"), word.count("i")
    return "e" * max(0, ups - downs) + "f" * word.count("f") + "i" * max(0, downs - ups)
