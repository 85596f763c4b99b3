# wrong: values
"""It applies only one of the two rules."""


def normal_form(word):
    while "ie" in word:
        word = word.replace("ie", "")
    return word
