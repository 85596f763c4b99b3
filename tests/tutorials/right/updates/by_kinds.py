"""Each move by what it makes, and what it makes that of."""


def move(made=(), of=()):
    return [(*stamp, 1) for stamp in made] + [(*stamp, -1) for stamp in of]


MOVES = [
    move(made=[("next", 0), ("till", 1)], of=[("till", 0)]),
    move(made=[("clerk", 1)], of=[("next", 0)]),
    move(made=[("next", 1)], of=[("till", 1)]),
    move(of=[("next", 1)]),
    move(of=[("clerk", 1)]),
]
