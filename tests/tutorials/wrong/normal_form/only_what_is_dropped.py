# wrong: values
"""It knows the other rule only."""


def normal_form(word):
    while "fe" in word:
        word = word.replace("fe", "e")
    return word
