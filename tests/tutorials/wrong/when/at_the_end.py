# wrong: prediction
"""It assumes that nothing is complete before the end."""

AT_THE_TILL, AT_THE_CLERK, DAY_1 = 40, 41, 41
