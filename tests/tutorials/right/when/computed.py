"""Computed."""

ENTERED = [1 + 10, 11 + 10, 21 + 10]
AT_THE_TILL = 3.0
AT_THE_CLERK = ENTERED[1]
DAY_1 = max(30, ENTERED[2])
