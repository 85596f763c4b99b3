# wrong: prediction
"""It takes what the till knows for what the clerk has done."""

AT_THE_TILL, AT_THE_CLERK, DAY_1 = 3, 3, 30
