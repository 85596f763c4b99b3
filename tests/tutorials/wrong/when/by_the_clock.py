# wrong: prediction
"""It assumes that a day is over when its last sale has been made."""

AT_THE_TILL, AT_THE_CLERK, DAY_1 = 2, 21, 31
