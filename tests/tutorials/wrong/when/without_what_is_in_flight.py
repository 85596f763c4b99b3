# wrong: prediction
"""It forgets the sale that the clerk is still working on."""

AT_THE_TILL, AT_THE_CLERK, DAY_1 = 3, 11, 31
