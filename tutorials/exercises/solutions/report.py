"""7.2 A report a day: the hour is the time, which may be late by six; a day is made of hours, and then counted."""

from collections import Counter

import pullstream as ps


def report(sales):
    """A pipeline from sales to reports."""

    def count(counts, sale):
        counts[sale[1]] += 1
        return counts

    return ps.pipe(
        ps.values(sales),
        ps.stamp(lambda sale: sale[0], lateness=6),
        ps.restamp(lambda hour: hour // 24),
        ps.reduce_by_time(ps.Fold(Counter, count)),
        ps.map(dict),
        ps.collect(timed=True),
    )
