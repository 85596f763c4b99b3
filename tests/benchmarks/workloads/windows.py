"""Windows in event time, over rows that come out of order: W12a to W12d."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from operator import attrgetter, itemgetter
from typing import Any

from tests.benchmarks.driving import bytewax_list, pathway_rows, pathway_table, piped
from tests.benchmarks.workload import HERE, Prepare, Run, Shape, Target, Workload

SECOND = 1_000_000
MINUTE = 60 * SECOND
GAP = 30 * SECOND
ROWS = "One row per second, each with a timestamp in microseconds and one of twenty keys. Rows arrive up to "
SIZES = {"full": 40_000, "quick": 10_000, "smoke": 300, "unit": "row", "ordered": False}
LATE = ROWS + "fifty seconds out of order, and the lateness is a minute. "
TUMBLING = Workload(
    "W12a",
    "tumbling windows",
    LATE + "They are counted by key in windows of five minutes.",
    **SIZES,
    target=Target(1.5),
)
SLIDING = Workload(
    "W12b",
    "sliding windows",
    LATE + "They are counted by key in windows of five minutes, one every minute, so each row is in five windows.",
    **SIZES,
    target=Target(1.5),
)
SESSIONS = Workload(
    "W12c",
    "sessions",
    LATE + "They are counted by key in sessions, which end after half a minute without a row.",
    **SIZES,
    target=Target(1.5),
)
SORTED = Workload(
    "W12d",
    "tumbling windows, sorted",
    "The same rows in order of time, counted by key in windows of five minutes.",
    **SIZES,
    target=Target(1.5),
)

Row = tuple[int, str]
Counted = list[tuple[int, str, int]]
"""Window, key, count; of a session, whose beginning not every toolkit tells, the key and the count."""
at, key_of = itemgetter(0), itemgetter(1)


def jumbled(size: int) -> list[Row]:
    """Rows as they arrive."""
    chance = random.Random(size)
    begin = 120 * MINUTE
    return [
        (begin + number * SECOND - chance.randrange(50 * SECOND), f"key{chance.randrange(20)}")
        for number in range(size)
    ]


def in_order(size: int) -> list[Row]:
    return sorted(jumbled(size))


def timely(rows: list[Row]) -> list[Row]:
    """Without those that are late."""
    latest, kept = 0, list[Row]()
    for row in rows:
        latest = max(latest, row[0])
        if row[0] >= latest - MINUTE:
            kept.append(row)
    return kept


def tumbling_plain(make: Callable[[int], list[Row]]) -> Prepare:
    def prepare(size: int) -> Run:
        rows = make(size)

        def run() -> Counted:
            counts: dict[tuple[int, str], int] = defaultdict(int)
            latest = 0
            for time, key in rows:
                if time > latest:
                    latest = time
                elif time < latest - MINUTE:
                    continue
                counts[time // (5 * MINUTE), key] += 1
            return [(window, key, count) for (window, key), count in counts.items()]

        return run

    return prepare


TUMBLING.limit(tumbling_plain(jumbled))
SORTED.limit(tumbling_plain(in_order))


@SLIDING.limit
def sliding_plain(size: int) -> Run:
    rows = jumbled(size)

    def run() -> Counted:
        counts: dict[tuple[int, str], int] = defaultdict(int)
        for time, key in timely(rows):
            last = time // MINUTE
            for start in range(last - 4, last + 1):
                counts[start, key] += 1
        return [(window, key, count) for (window, key), count in counts.items()]

    return run


@SESSIONS.limit
def sessions_plain(size: int) -> Run:
    rows = jumbled(size)

    def run() -> Counted:
        ends: dict[str, int] = {}
        begun: Counter[str] = Counter()
        counts: Counter[tuple[str, int]] = Counter()
        for time, key in sorted(timely(rows)):
            if time - ends.get(key, -MINUTE) > GAP:
                begun[key] += 1
            ends[key] = time
            counts[key, begun[key]] += 1
        return [(0, key, count) for (key, _), count in counts.items()]

    return run


# ---- here


def here(make: Callable[[int], list[Row]], windows: Callable[[], Any], start: Callable[[Any], int]) -> Prepare:
    def prepare(size: int) -> tuple[Run, Shape]:
        import pullstream as ps

        stamped = ps.stamp(at, lateness=MINUTE, late="drop") if make is jumbled else ps.stamp(at)
        program = piped(ps.values(make(size)), stamped, windows(), ps.collect())
        return lambda: ps.run(program), lambda found: [(start(window), *window.value) for window in found]

    return prepare


def tumbling() -> Any:
    import pullstream as ps

    return ps.tumbling(5 * MINUTE, ps.agg.count(), key=key_of)


def sliding() -> Any:
    import pullstream as ps

    return ps.sliding(5 * MINUTE, MINUTE, ps.agg.count(), key=key_of)


def sessions() -> Any:
    import pullstream as ps

    return ps.sessions(GAP, ps.agg.count(), key=key_of)


started = attrgetter("start")
TUMBLING.way(HERE)(here(jumbled, tumbling, lambda window: started(window) // (5 * MINUTE)))
SORTED.way(HERE)(here(in_order, tumbling, lambda window: started(window) // (5 * MINUTE)))
SLIDING.way(HERE)(here(jumbled, sliding, lambda window: started(window) // MINUTE))
SESSIONS.way(HERE)(here(jumbled, sessions, lambda window: 0))


# ---- Bytewax


def bytewax(make: Callable[[int], list[Row]], windower: Callable[[Any, datetime], Any], *, numbered: bool) -> Prepare:
    def prepare(size: int) -> tuple[Run, Shape]:
        from bytewax.operators import windowing

        begin = datetime(2026, 1, 1, tzinfo=UTC)
        rows = [(begin + timedelta(microseconds=time), key) for time, key in make(size)]
        clock = windowing.EventClock(at, timedelta(minutes=1))

        def build(op: Any, given: Any) -> Any:
            return windowing.count_window("count", given(rows), clock, windower(windowing, begin), key_of).down

        def shape(out: Any) -> Counted:
            return [(window if numbered else 0, key, count) for key, (window, count) in out]

        return bytewax_list(build), shape

    return prepare


def bytewax_tumbling(windowing: Any, begin: datetime) -> Any:
    return windowing.TumblingWindower(length=timedelta(minutes=5), align_to=begin)


def bytewax_sliding(windowing: Any, begin: datetime) -> Any:
    return windowing.SlidingWindower(length=timedelta(minutes=5), offset=timedelta(minutes=1), align_to=begin)


def bytewax_sessions(windowing: Any, begin: datetime) -> Any:
    return windowing.SessionWindower(gap=timedelta(seconds=30))


NOTE = "a watermark per key, which advances with the clock"
TUMBLING.way("bytewax", note=NOTE)(bytewax(jumbled, bytewax_tumbling, numbered=True))
SORTED.way("bytewax", note=NOTE)(bytewax(in_order, bytewax_tumbling, numbered=True))
SLIDING.way("bytewax", note=NOTE)(bytewax(jumbled, bytewax_sliding, numbered=True))
SESSIONS.way("bytewax", note=NOTE)(bytewax(jumbled, bytewax_sessions, numbered=False))


# ---- Pathway


def pathway(make: Callable[[int], list[Row]], window: Callable[[Any], Any], every: int) -> Prepare:
    def prepare(size: int) -> tuple[Run, Shape]:
        rows = make(size)

        def build(pw: Any) -> Any:
            table = pathway_table(pw, rows, at=int, key=str)
            windows = table.windowby(table.at, window=window(pw.temporal), instance=table.key)
            start = pw.this._pw_window_start
            return windows.reduce(start, pw.this._pw_instance, count=pw.reducers.count())

        def shape(out: Any) -> Counted:
            return [(start // every if every else 0, key, count) for start, key, count in out]

        return pathway_rows(build), shape

    return prepare


def pathway_tumbling(temporal: Any) -> Any:
    return temporal.tumbling(duration=5 * MINUTE)


def pathway_sliding(temporal: Any) -> Any:
    return temporal.sliding(duration=5 * MINUTE, hop=MINUTE)


def pathway_sessions(temporal: Any) -> Any:
    return temporal.session(max_gap=GAP + 1)


ALL = "keeps all rows; none is late"
TUMBLING.way("pathway", share=0.25, note=ALL)(pathway(jumbled, pathway_tumbling, 5 * MINUTE))
SORTED.way("pathway", share=0.25, note=ALL)(pathway(in_order, pathway_tumbling, 5 * MINUTE))
SLIDING.way("pathway", share=0.25, note=ALL)(pathway(jumbled, pathway_sliding, MINUTE))
SESSIONS.way("pathway", share=0.25, note=ALL)(pathway(jumbled, pathway_sessions, 0))
