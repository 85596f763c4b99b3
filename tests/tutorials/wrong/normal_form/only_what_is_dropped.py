# wrong: values
"""It applies only the other rule."""


def normal_form(word):
    while "fe" in word:
        word = word.replace("fe", "e")
    return word
