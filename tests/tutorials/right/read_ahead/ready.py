"""The ready module."""

import pullstream as ps


def read_ahead(n):
    return ps.prefetch(n)
