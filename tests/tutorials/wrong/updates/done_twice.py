# wrong: prediction
"""It records twice that the clerk is finished."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 1, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [("clerk", 1, -1), ("clerk", 1, -1)],
]
