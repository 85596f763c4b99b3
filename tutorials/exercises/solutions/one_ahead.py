"""2.1 What is printed, and one ahead: nothing is read before it is asked for, and then as much as was asked for.

`prefetch(1)` asks for the next value while what is below does its work, and for no more than one.
"""

import pullstream as ps

AT_LIMIT_1 = ["reads 1", "gets [1]", "reads 2", "gets [2]", "reads 3", "gets [3]"]
AT_LIMIT_2 = ["reads 1", "reads 2", "gets [1, 2]", "reads 3", "gets [3]"]


def one_ahead():
    """The values as they are, asked for one ahead."""
    return ps.prefetch(1)
