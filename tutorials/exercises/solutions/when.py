"""7.1 When is it complete?

At the till when the next day has come, at 3. At the clerk when he has entered both sales of day 0; he begins the second
at 11, and finishes at 21. Day 1: its sale is entered from 21 to 31, and day 2 has come by then, at 30.
"""

AT_THE_TILL = 3
AT_THE_CLERK = 21
DAY_1 = 31
