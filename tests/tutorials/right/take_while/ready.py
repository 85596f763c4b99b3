"""With the ready module."""

import pullstream as ps


def take_while(test):
    return ps.take(test)
