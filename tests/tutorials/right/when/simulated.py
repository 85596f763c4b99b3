"""Simulated by hand."""

free, done = 0, {}
for second, day in ((1, 0), (2, 0), (3, 1)):
    free = max(free, second) + 10
    done[day] = free
AT_THE_TILL, AT_THE_CLERK, DAY_1 = 3, done[0], max(done[1], 30)
