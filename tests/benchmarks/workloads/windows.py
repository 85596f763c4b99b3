"""Windows in event time, over rows out of order: W12a to W12d."""

import random
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import itemgetter

from tests.benchmarks.peers import bytewax_list, pathway_rows, pathway_table
from tests.benchmarks.workload import HERE, Target, Workload

SECOND = 1_000_000
MINUTE = 60 * SECOND
GAP = 30 * SECOND
LATE = (
    "One row per second, each with a timestamp in microseconds and one of twenty keys. Rows arrive up to fifty seconds "
    "out of order, and the lateness is a minute. They are counted by key in "
)
SIZES = {"full": 40_000, "quick": 10_000, "smoke": 300, "unit": "row", "ordered": False, "target": Target(1.5)}
FIVE = "windows of five minutes"
TUMBLING = Workload("W12a", "tumbling windows", f"{LATE}{FIVE}.", **SIZES)
SLIDING = Workload(
    "W12b", "sliding windows", f"{LATE}{FIVE}, one every minute, so each row is in five windows.", **SIZES
)
SESSIONS = Workload("W12c", "sessions", f"{LATE}sessions, which end after half a minute without a row.", **SIZES)
SORTED = Workload(
    "W12d", "tumbling windows, sorted", f"The same rows in order of time, counted by key in {FIVE}.", **SIZES
)

at, key_of = itemgetter(0), itemgetter(1)


def jumbled(size):
    """Rows in order of arrival."""
    chance = random.Random(size)
    begin = 120 * MINUTE
    return [
        (begin + number * SECOND - chance.randrange(50 * SECOND), f"key{chance.randrange(20)}")
        for number in range(size)
    ]


def in_order(size):
    return sorted(jumbled(size))


def timely(rows):
    """The rows that are not late."""
    latest, kept = 0, []
    for row in rows:
        latest = max(latest, row[0])
        if row[0] >= latest - MINUTE:
            kept.append(row)
    return kept


def as_list(counts):
    """Window, key, count; for a session, whose beginning not every toolkit reports, only key and count."""
    return [(window, key, count) for (window, key), count in counts.items()]


def tumbling_plain(size, make=jumbled):
    rows = make(size)

    def run():
        counts = defaultdict(int)
        latest = 0
        for time, key in rows:
            if time > latest:
                latest = time
            elif time < latest - MINUTE:
                continue
            counts[time // (5 * MINUTE), key] += 1
        return as_list(counts)

    return run


def sliding_plain(size):
    rows = jumbled(size)

    def run():
        counts = defaultdict(int)
        for time, key in timely(rows):
            last = time // MINUTE
            for start in range(last - 4, last + 1):
                counts[start, key] += 1
        return as_list(counts)

    return run


def sessions_plain(size):
    rows = jumbled(size)

    def run():
        ends, begun, counts = {}, Counter(), Counter()
        for time, key in sorted(timely(rows)):
            if time - ends.get(key, -MINUTE) > GAP:
                begun[key] += 1
            ends[key] = time
            counts[key, begun[key]] += 1
        return [(0, key, count) for (key, _), count in counts.items()]

    return run


def here(size, make, every, windows):
    import pullstream as ps

    stamped = ps.stamp(at, lateness=MINUTE, late="drop") if make is jumbled else ps.stamp(at)
    program = ps.pipe(ps.values(make(size)), stamped, windows(ps, ps.agg.count()), ps.collect())
    return lambda: ps.run(program), lambda found: [
        (window.start // every if every else 0, *window.value) for window in found
    ]


def bytewax(size, make, every, windower):
    from bytewax.operators import windowing

    begin = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [(begin + timedelta(microseconds=time), key) for time, key in make(size)]
    clock = windowing.EventClock(at, timedelta(minutes=1))

    def build(op, given):
        return windowing.count_window("count", given(rows), clock, windower(windowing, begin), key_of).down

    return bytewax_list(build), lambda out: [(window if every else 0, key, count) for key, (window, count) in out]


def pathway(size, make, every, window):
    rows = make(size)

    def build(pw):
        table = pathway_table(pw, rows, at=int, key=str)
        windows = table.windowby(table.at, window=window(pw.temporal), instance=table.key)
        return windows.reduce(pw.this._pw_window_start, pw.this._pw_instance, count=pw.reducers.count())

    return pathway_rows(build), lambda out: [(start // every if every else 0, key, count) for start, key, count in out]


TUMBLERS = (
    lambda ps, fold: ps.tumbling(5 * MINUTE, fold, key=key_of),
    lambda windowing, begin: windowing.TumblingWindower(length=timedelta(minutes=5), align_to=begin),
    lambda temporal: temporal.tumbling(duration=5 * MINUTE),
)
SLIDERS = (
    lambda ps, fold: ps.sliding(5 * MINUTE, MINUTE, fold, key=key_of),
    lambda windowing, begin: windowing.SlidingWindower(
        length=timedelta(minutes=5), offset=timedelta(minutes=1), align_to=begin
    ),
    lambda temporal: temporal.sliding(duration=5 * MINUTE, hop=MINUTE),
)
SESSIONERS = (
    lambda ps, fold: ps.sessions(GAP, fold, key=key_of),
    lambda windowing, begin: windowing.SessionWindower(gap=timedelta(seconds=30)),
    lambda temporal: temporal.session(max_gap=GAP + 1),
)
for workload, plain, make, every, makers in (
    (TUMBLING, tumbling_plain, jumbled, 5 * MINUTE, TUMBLERS),
    (SORTED, partial(tumbling_plain, make=in_order), in_order, 5 * MINUTE, TUMBLERS),
    (SLIDING, sliding_plain, jumbled, MINUTE, SLIDERS),
    (SESSIONS, sessions_plain, jumbled, 0, SESSIONERS),
):
    ours, bytewaxs, pathways = makers
    workload.limit(plain)
    workload.way(HERE)(partial(here, make=make, every=every, windows=ours))
    watermark = "a watermark per key, which advances with the clock"
    workload.way("bytewax", note=watermark)(partial(bytewax, make=make, every=every, windower=bytewaxs))
    kept = "keeps all rows; none is late"
    workload.way("pathway", share=0.25, note=kept)(partial(pathway, make=make, every=every, window=pathways))
