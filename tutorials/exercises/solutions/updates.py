"""10.4 Updates for the tracker: in every move, additions first, and then the removal of their cause."""

MOVES = [
    [("next", 0, 1), ("till", 1, 1), ("till", 0, -1)],
    [("clerk", 1, 1), ("next", 0, -1)],
    [("next", 1, 1), ("till", 1, -1)],
    [("next", 1, -1)],
    [("clerk", 1, -1)],
]
