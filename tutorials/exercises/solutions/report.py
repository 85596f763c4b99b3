"""7.2 A report a day: stamp by the hour, with a lateness of six, then map hours to days and count."""

from collections import Counter

import pullstream as ps


def report(sales):
    """Return a pipeline from sales to reports."""

    def count(counts, sale):
        counts[sale[1]] += 1
        return counts

    return ps.pipe(
        ps.values(sales),
        ps.stamp(lambda sale: sale[0], lateness=6),
        ps.map_time(lambda hour: hour // 24),
        ps.reduce_by_time(ps.Fold(Counter, count)),
        ps.map(dict),
        ps.collect(timed=True),
    )
