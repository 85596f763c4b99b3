# wrong: CompositionError
"""It has no sink, so nothing is asked for."""

import pullstream as ps


def words_a_day(lines):
    return ps.pipe(
        ps.values(lines, time=lambda line: line[0]),
        ps.flat_map(lambda line: line[1].split()),
        ps.reduce_by_time(ps.Fold(int, lambda count, _: count + 1)),
    )
