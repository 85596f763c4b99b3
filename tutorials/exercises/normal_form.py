"""9.2 The normal form of a path.

A path through loops is a word of three letters: `i` enters a loop, and gives the time a counter at 0; `f` is fed back,
and adds one to the last counter; `e` leaves, and drops it. Two rules make words shorter, and what they do is the same:

    ie = 1    in and out again is no way at all
    fe = e    a counter that is dropped need not be counted

`normal_form(word)` gives the word to which neither rule applies any more, whichever was applied first. `1` is "".
"""


def normal_form(word):
    return word.replace("ie", "")  # once is not always enough, and one rule is missing
