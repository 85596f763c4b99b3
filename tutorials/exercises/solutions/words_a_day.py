"""0.1 Words a day: every line at its day, split into words, and one number per day when it is complete."""

import pullstream as ps


def words_a_day(lines):
    """Return a pipeline from lines to the number of words per day."""
    return ps.pipe(
        ps.values(lines, time=lambda line: line[0]),
        ps.flat_map(lambda line: line[1].split()),
        ps.reduce_by_time(ps.Fold(int, lambda count, _: count + 1)),
        ps.collect(timed=True),
    )
