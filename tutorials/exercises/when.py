"""7.1 When is it complete?

A till yields sales at 1, 2 and 3 seconds, of day 0, 0 and 1, and a last one of day 2 at 30. A clerk needs ten seconds
to enter each. Between them, `prefetch(8)` buffers sales so that the till does not wait for the clerk.

    ps.pipe(till(), ps.prefetch(8), clerk())

Nothing else announces that a day is over; the till yields days in order. At which second does each of these return?

    AT_THE_TILL    await running.progress.completed(0, at="till")
    AT_THE_CLERK   await running.progress.completed(0)
    DAY_1          await running.progress.completed(1)
"""

AT_THE_TILL = None
AT_THE_CLERK = None
DAY_1 = None
