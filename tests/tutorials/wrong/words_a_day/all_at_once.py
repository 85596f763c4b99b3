# wrong: values
"""It counts everything together."""

import pullstream as ps


def words_a_day(lines):
    return ps.pipe(
        ps.values(lines),
        ps.flat_map(lambda line: line[1].split()),
        ps.reduce_by_time(ps.Fold(int, lambda count, _: count + 1)),
        ps.collect(timed=True),
    )
