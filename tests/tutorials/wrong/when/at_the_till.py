# wrong: prediction
"""It confuses the times complete at the till with those that the clerk has finished."""

AT_THE_TILL, AT_THE_CLERK, DAY_1 = 3, 3, 30
