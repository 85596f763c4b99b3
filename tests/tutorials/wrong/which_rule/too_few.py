# wrong: prediction
"""It leaves one rule out."""

BROKEN = {1: "R2", 2: "R9", 3: "R7", 4: "R8", 5: "R3", 6: "R5", 7: "R6"}
