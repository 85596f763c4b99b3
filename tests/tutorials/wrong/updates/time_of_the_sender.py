# wrong: prediction
"""It records the sender's day instead of the day of the sale."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 0, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [("clerk", 0, -1)],
]
