# wrong: values
"""It applies each rule once."""


def normal_form(word):
    return word.replace("fe", "e").replace("ie", "")
