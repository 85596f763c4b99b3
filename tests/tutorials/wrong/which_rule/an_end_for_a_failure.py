# wrong: prediction
"""It confuses a failure with an end."""

BROKEN = {1: "R2", 2: "R9", 3: "R8", 4: "R7", 5: "R3", 6: "R5", 7: "R6", 8: "R1"}
