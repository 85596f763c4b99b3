"""The ready module."""

import pullstream as ps


def largest():
    return ps.pipe(ps.reduce_by_key(ps.Fold(lambda: -1, max), key=lambda _: None), ps.map(lambda pair: pair[1]))
