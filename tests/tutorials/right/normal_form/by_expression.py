"""Whatever is entered, counted and left, at once."""

import re


def normal_form(word):
    number = 1
    while number:
        word, number = re.subn("if*e", "", word)
    return re.sub("f+e", "e", word)
