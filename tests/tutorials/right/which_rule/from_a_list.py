"""From a list."""

BROKEN = dict(enumerate("R2 R9 R7 R8 R3 R5 R6 R1".split(), start=1))
