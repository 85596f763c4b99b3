# wrong: R2
"""It has room for everything."""

import pullstream as ps


def read_ahead(n):
    return ps.prefetch(1000)
