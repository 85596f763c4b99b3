# wrong: CompositionError
"""It has a source in the middle of the pipeline."""

import pullstream as ps


def words_a_day(lines):
    return ps.pipe(
        ps.flat_map(lambda line: line[1].split()),
        ps.values(lines, time=lambda line: line[0]),
        ps.reduce_by_time(ps.Fold(int, lambda count, _: count + 1)),
        ps.collect(timed=True),
    )
