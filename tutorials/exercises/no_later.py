"""9.3 Which path is no later?

A time in loops is a tuple of counters, the outermost first. What a path, a word in normal form as in 9.2, does to it:

    `e` leaves: the last counter is dropped;   `f` is fed back: the last counter is one more;   `i` enters: a 0 is added

    (5, 7) through ei: (5, 0);   through eif: (5, 1);   through the path "", which is no way at all: (5, 7)

A time is less than or equal to another if each counter is. `less_equal(p, q)` says whether a path `p` never gives a
later time than `q`: whether for every time, what comes out of `p` is less than or equal to what comes out of `q`. Both
are in normal form and lie between the same places, so that what comes out of them has equally many counters.
Counters may be as large as they like; there are always enough of them for a path to leave.
"""


def less_equal(p, q):
    return p <= q  # as in a dictionary: why not?
