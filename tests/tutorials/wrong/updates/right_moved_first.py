# wrong: early
"""It moves the till's right before it records the sale."""

MOVES = [
    [("till", 1, 1), ("till", 0, -1), ("next", 0, 1)],
    [("clerk", 1, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [("clerk", 1, -1)],
]
