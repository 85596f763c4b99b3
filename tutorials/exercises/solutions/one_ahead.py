"""2.1 What is printed, and one ahead: values are read only when asked for, and then as many as asked for.

`prefetch(1)` asks for the next value while the consumer works, and for no more than one.
"""

import pullstream as ps

AT_LIMIT_1 = ["reads 1", "gets [1]", "reads 2", "gets [2]", "reads 3", "gets [3]"]
AT_LIMIT_2 = ["reads 1", "reads 2", "gets [1, 2]", "reads 3", "gets [3]"]


def one_ahead():
    """Pass values on, and ask for one ahead."""
    return ps.prefetch(1)
