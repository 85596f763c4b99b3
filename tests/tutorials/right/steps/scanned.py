"""Of ready modules."""

import pullstream as ps


def steps():
    return ps.pipe(ps.scan(lambda state, value: (value, value - state[0]), (0, 0)), ps.map(lambda state: state[1]))
