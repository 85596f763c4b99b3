# wrong: holding
"""It does not tell that what was dropped is dealt with."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 1, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [],
    [("clerk", 1, -1)],
]
