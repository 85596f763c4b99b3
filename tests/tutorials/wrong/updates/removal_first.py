# wrong: early
"""It removes before it adds: for a moment nothing is pending and everything is complete."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("next", 0, -1), ("clerk", 1, 1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [("clerk", 1, -1)],
]
