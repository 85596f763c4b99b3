"""The ready module."""

import pullstream as ps


def pairs(left, right):
    return ps.zip(left, right)
