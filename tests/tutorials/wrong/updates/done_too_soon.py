# wrong: early
"""It records a sale as finished when it is handed over."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 1, 1), ("next", 0, -1), ("clerk", 1, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [],
]
