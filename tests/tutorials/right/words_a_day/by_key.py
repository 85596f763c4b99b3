"""With one key for everything."""

import pullstream as ps


def words_a_day(lines):
    words = ps.pipe(ps.values(lines, time=lambda line: line[0]), ps.flat_map(lambda line: line[1].split()))
    return ps.pipe(words, ps.count_by_key(lambda _: None), ps.map(lambda pair: pair[1]), ps.collect(timed=True))
