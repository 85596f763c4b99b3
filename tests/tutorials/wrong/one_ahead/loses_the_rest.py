# wrong: batching
"""It delivers only the first value of a batch."""

import pullstream as ps

AT_LIMIT_1 = ["reads 1", "gets [1]", "reads 2", "gets [2]", "reads 3", "gets [3]"]
AT_LIMIT_2 = ["reads 1", "reads 2", "gets [1, 2]", "reads 3", "gets [3]"]


def one_ahead():
    return ps.map_batches(lambda values: values[:1])
