# wrong: holding
"""It does not record that a dropped sale is finished."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 1, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [],
    [("clerk", 1, -1)],
]
