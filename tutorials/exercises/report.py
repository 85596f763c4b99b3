"""7.2 A report a day.

`report(sales)` returns a pipeline for sales, pairs of an hour and an item. They come from several tills and are out of
order by at most six hours. Its result is, for each day in order, a pair of the day (`hour // 24`) and a dict of how
often each item was sold. A day is reported once, as soon as it is certain that it is over, and no sale is left out.

    [(9, "tea"), (25, "rice"), (21, "tea"), (30, "tea")] gives [(0, {"tea": 2}), (1, {"rice": 1, "tea": 1})]
"""

import pullstream as ps


def report(sales):
    return ps.pipe(
        ps.values(sales),
        ps.stamp(lambda sale: sale[0] // 24),  # which may not go back
        ps.collect(timed=True),
    )
