# wrong: values
"""It drops the feedback after the last entry."""

import re


def normal_form(word):
    before = None
    while word != before:
        before = word
        word = word.replace("ie", "").replace("fe", "e")
    return re.sub("(?<=i)f+$", "", word)
