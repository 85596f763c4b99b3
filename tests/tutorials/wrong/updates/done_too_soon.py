# wrong: early
"""It takes a sale for dealt with as it is given."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 1, 1), ("next", 0, -1), ("clerk", 1, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [],
]
