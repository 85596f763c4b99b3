"""Of ready modules."""

import pullstream as ps


def store(save):
    return ps.pipe(ps.map_async(save, 2), ps.drain())
