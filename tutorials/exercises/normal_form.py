"""9.2 The normal form of a path.

A path through loops is a word of three letters: `i` enters a loop and appends a counter at 0; `f` feeds back and adds
one to the last counter; `e` leaves and drops it. Two rules shorten a word without changing its effect:

    ie = 1    entering and leaving has no effect
    fe = e    a counter that is dropped need not be incremented

`normal_form(word)` returns the word to which neither rule applies any more; the order of application does not matter.
`1` is "".
"""


def normal_form(word):
    return word.replace("ie", "")  # once is not always enough, and one rule is missing
