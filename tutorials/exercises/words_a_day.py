"""0.1 Words a day.

`words_a_day(lines)` returns a pipeline for lines, pairs of a day and a text in the order of the days. Its result is a
list of pairs: each day that has any words, and their number.

    lines = [(1, "tea and rice"), (1, "salt"), (2, "tea")]
    ps.run(words_a_day(lines)) gives [(1, 4), (2, 1)]

Emit a day's number once, when the day is over. The pipeline must be able to run again. Only its result is judged. You
could count before the pipeline begins, but this is the place to try times.
"""

import pullstream as ps


def words_a_day(lines):
    return ps.pipe(
        ps.values(lines),  # at which time?
        ps.map(lambda line: len(line[1].split())),
        ps.collect(timed=True),
    )


if __name__ == "__main__":
    print(ps.run(words_a_day([(1, "tea and rice"), (1, "salt"), (2, "tea")])))
