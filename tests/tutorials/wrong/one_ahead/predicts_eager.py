# wrong: prediction
"""It assumes that a source reads everything at once."""

import pullstream as ps

AT_LIMIT_1 = ["reads 1", "reads 2", "reads 3", "gets [1]", "gets [2]", "gets [3]"]
AT_LIMIT_2 = ["reads 1", "reads 2", "reads 3", "gets [1, 2]", "gets [3]"]


def one_ahead():
    return ps.prefetch(1)
