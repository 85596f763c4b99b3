"""Both rules, until nothing changes."""


def normal_form(word):
    before = None
    while word != before:
        before = word
        word = word.replace("ie", "").replace("fe", "e")
    return word
