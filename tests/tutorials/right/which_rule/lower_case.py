"""In lower case."""

BROKEN = {1: "r2", 2: "r9", 3: "r7", 4: "r8", 5: "r3", 6: "r5", 7: "r6", 8: "r1"}
