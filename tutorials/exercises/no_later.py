"""9.3 Which path is no later?

A time in loops is a tuple of counters, the outermost first. A path is a word in normal form, as in 9.2, and changes the
time letter by letter:

    `e` leaves: the last counter is dropped;   `f` feeds back: the last counter grows by one;   `i` enters: a 0 is added

    (5, 7) through ei: (5, 0);   through eif: (5, 1);   through the path "", which has no effect: (5, 7)

A time is less than or equal to another if each counter is. `less_equal(p, q)` says whether path `p` never gives a later
time than `q`: whether for every time, the result of `p` is less than or equal to the result of `q`. Both are in normal
form and lie between the same places, so their results have equally many counters. Counters may be arbitrarily large,
and there are always enough of them for a path to leave.
"""


def less_equal(p, q):
    return p <= q  # dictionary order: why not?
