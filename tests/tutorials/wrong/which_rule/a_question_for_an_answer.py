# wrong: prediction
"""It takes asking after the end for answering after it."""

BROKEN = {1: "R2", 2: "R3", 3: "R7", 4: "R8", 5: "R9", 6: "R5", 7: "R6", 8: "R1"}
