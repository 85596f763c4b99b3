# wrong: values
"""It also emits days without any words, with 0."""

import pullstream as ps


def words_a_day(lines):
    return ps.pipe(
        ps.values(lines, time=lambda line: line[0]),
        ps.map(lambda line: len(line[1].split())),
        ps.reduce_by_time(ps.agg.sum()),
        ps.collect(timed=True),
    )
