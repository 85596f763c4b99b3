# wrong: prediction
"""It confuses two lanes with one."""

BROKEN = {1: "R2", 2: "R9", 3: "R7", 4: "R8", 5: "R3", 6: "R5", 7: "R6", 8: "R4"}
