# wrong: values
"""It knows one rule of the two."""


def normal_form(word):
    while "ie" in word:
        word = word.replace("ie", "")
    return word
