# wrong: early
"""It records one half of a move with the next move."""

MOVES = [
    [("till", 1, 1), ("till", 0, -1)],
    [("next", 0, 1), ("clerk", 1, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [("clerk", 1, -1)],
]
