# wrong: values
"""It drops late sales."""

from collections import Counter

import pullstream as ps


def report(sales):
    def count(counts, sale):
        counts[sale[1]] += 1
        return counts

    by_day = ps.pipe(ps.stamp(lambda sale: sale[0], lateness=0, late="drop"), ps.map_time(lambda hour: hour // 24))
    reduced = ps.pipe(ps.values(sales), by_day, ps.reduce_by_time(ps.Fold(Counter, count)))
    return ps.pipe(reduced, ps.map(dict), ps.collect(timed=True))
