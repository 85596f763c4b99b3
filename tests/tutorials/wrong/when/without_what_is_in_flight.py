# wrong: prediction
"""It forgets the sale that the clerk still has in his hands."""

AT_THE_TILL, AT_THE_CLERK, DAY_1 = 3, 11, 31
