# wrong: prediction
"""It assumes that nothing is ever complete."""

AT_THE_TILL = AT_THE_CLERK = DAY_1 = float("inf")
