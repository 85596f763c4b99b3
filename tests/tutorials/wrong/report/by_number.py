# wrong: values
"""It takes five sales for a day, as one does who waits for a while and then says that it is over."""

from collections import Counter

import pullstream as ps


def report(sales):
    def count(counts, sale):
        counts[sale[1]] += 1
        return counts

    reduced = ps.pipe(ps.values(sales), ps.stamp_epochs(5), ps.reduce_by_time(ps.Fold(Counter, count)))
    return ps.pipe(reduced, ps.map(dict), ps.collect(timed=True))
