# wrong: values
"""It counts five sales as a day, like a program that waits for a while and then assumes the day is over."""

from collections import Counter

import pullstream as ps


def report(sales):
    def count(counts, sale):
        counts[sale[1]] += 1
        return counts

    reduced = ps.pipe(ps.values(sales), ps.stamp_epochs(5), ps.reduce_by_time(ps.Fold(Counter, count)))
    return ps.pipe(reduced, ps.map(dict), ps.collect(timed=True))
