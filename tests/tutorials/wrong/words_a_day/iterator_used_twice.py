# wrong: ReuseError
"""It gives `values` an iterator, which the first run exhausts."""

import pullstream as ps


def words_a_day(lines):
    return ps.pipe(
        ps.values(iter(lines), time=lambda line: line[0]),
        ps.flat_map(lambda line: line[1].split()),
        ps.reduce_by_time(ps.Fold(int, lambda count, _: count + 1)),
        ps.collect(timed=True),
    )
