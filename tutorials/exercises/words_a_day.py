"""0.1 Words a day.

`words_a_day(lines)` makes a pipeline of lines, pairs of a day and a text in the order of the days. Run, it gives a list
of pairs: each day that has any words, and how many it has.

    lines = [(1, "tea and rice"), (1, "salt"), (2, "tea")]
    ps.run(words_a_day(lines)) gives [(1, 4), (2, 1)]

A day's number is told once, when the day is over. The pipeline can be run again.
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
