# wrong: prediction
"""It confuses asking after the end with answering after the end."""

BROKEN = {1: "R2", 2: "R3", 3: "R7", 4: "R8", 5: "R9", 6: "R5", 7: "R6", 8: "R1"}
