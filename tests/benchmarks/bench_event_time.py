"""What event time costs, out of order and in order: against the loop one would write by hand, and against peers.

    python tests/benchmarks/bench_event_time.py [--rows 10000,40000] [--rounds 7] [--only windows] [--spark]
                                                [--bytewax PYTHON]

Rows are a second apart, up to a minute too early (the jitter), and one in a thousand is an hour late. Every measurement
is a process of its own, in turns, which runs its way once over a few rows and then measures it: processor time, of all
threads, for the ways in Python, and the clock where Spark's Java has part of the work. The table has the ratio to the
loop of the same round: its median, least and greatest. PYTHON is one in which Bytewax is installed
(`pip install bytewax`), if this one is not; the ways of a peer that is missing are left out.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

SECOND = 1_000_000
MINUTE = 60 * SECOND
KEYS = 20
WARMING = 500
Row = tuple[int, str]
Way = Callable[[list[Row]], Callable[[], int]]
"""Prepares a way for some rows; what it gives is measured, and says how many rows have been counted."""


def out_of_order(rows: int) -> list[Row]:
    """Rows in the order in which they arrive: a time, in microseconds, and a key."""
    chance = random.Random(rows)
    made: list[Row] = []
    for number in range(rows):
        late = 60 * MINUTE if number > 4_000 and chance.random() < 0.001 else chance.randrange(MINUTE)
        made.append((number * SECOND + 120 * MINUTE - late, f"key{chance.randrange(KEYS)}"))
    return made


def in_order(rows: int) -> list[Row]:
    return sorted(out_of_order(rows))


# ---- by hand


def _timely(rows: Iterable[Row]) -> Iterable[Row]:
    latest = 0
    for row in rows:
        if row[0] > latest:
            latest = row[0]
        elif row[0] < latest - MINUTE:
            continue
        yield row


def windows_loop(rows: list[Row]) -> Callable[[], int]:
    def run() -> int:
        counts: dict[tuple[int, str], int] = defaultdict(int)
        latest = 0
        for at, key in rows:
            if at > latest:
                latest = at
            elif at < latest - MINUTE:
                continue
            counts[at // (5 * MINUTE), key] += 1
        return sum(counts.values())

    return run


def sliding_loop(rows: list[Row]) -> Callable[[], int]:
    def run() -> int:
        counts: dict[tuple[int, str], int] = defaultdict(int)
        for at, key in _timely(rows):
            last = at // MINUTE
            for start in range(last - 4, last + 1):
                counts[start, key] += 1
        return sum(counts.values()) // 5

    return run


def sessions_loop(rows: list[Row]) -> Callable[[], int]:
    def run() -> int:
        ends: dict[str, int] = {}
        counts: Counter[tuple[str, int]] = Counter()
        number = 0
        for at, key in sorted(_timely(rows)):
            if at - ends.get(key, -MINUTE) >= MINUTE // 2:
                number += 1
            ends[key] = at
            counts[key, number] += 1
        return sum(counts.values())

    return run


def join_loop(rows: list[Row]) -> Callable[[], int]:
    def run() -> int:
        sides: tuple[dict[str, deque[int]], ...] = (defaultdict(deque), defaultdict(deque))
        pairs = 0
        for number, (at, key) in enumerate(rows):
            other = sides[1 - number % 2][key]
            while other and other[0] < at - MINUTE:
                other.popleft()
            pairs += len(other)
            sides[number % 2][key].append(at)
        return pairs

    return run


def minutes_loop(rows: list[Row]) -> Callable[[], int]:
    def run() -> int:
        counts: Counter[tuple[int, str]] = Counter()
        for at, key in rows:
            counts[at // MINUTE, key] += 1
        return sum(counts.values())

    return run


# ---- here


def _total(source: Any, *modules: Any) -> Callable[[], int]:
    import pullstream as ps

    counted = ps.reduce(lambda total, window: total + window.value[1], 0)
    program = ps.pipe(source, *modules, counted)
    return lambda: ps.run(program)


def _stamped(**options: Any) -> Any:
    import pullstream as ps

    return ps.stamp(lambda row: row[0], **options)


def windows(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    stamping = _stamped(lateness=MINUTE, late="drop")
    return _total(ps.values(rows), stamping, ps.tumbling(5 * MINUTE, ps.agg.count(), key=_key))


def windows_late_aside(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    stamping = _stamped(lateness=MINUTE, late=ps.drain())
    return _total(ps.values(rows), stamping, ps.tumbling(5 * MINUTE, ps.agg.count(), key=_key))


def windows_sorted(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    return _total(ps.values(rows, time=_at), ps.tumbling(5 * MINUTE, ps.agg.count(), key=_key))


def _parquet(rows: list[Row]) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(tempfile.mkdtemp(), "rows.parquet")
    pq.write_table(pa.table({"at": [at for at, _ in rows], "key": [key for _, key in rows]}), path)
    return path


def windows_parquet(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps
    from adapters import files

    source = files.read_parquet(_parquet(rows), as_="tuples")
    stamping = _stamped(lateness=MINUTE, late="drop")
    return _total(source, stamping, ps.tumbling(5 * MINUTE, ps.agg.count(), key=_key))


def windows_parquet_sorted(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps
    from adapters import files

    source = files.read_parquet(_parquet(rows), as_="tuples", time="at")
    return _total(source, ps.tumbling(5 * MINUTE, ps.agg.count(), key=_key))


def sliding(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    stamping = _stamped(lateness=MINUTE, late="drop")
    run = _total(ps.values(rows), stamping, ps.sliding(5 * MINUTE, MINUTE, ps.agg.count(), key=_key))
    return lambda: run() // 5


def sessions(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    stamping = _stamped(lateness=MINUTE, late="drop")
    return _total(ps.values(rows), stamping, ps.sessions(MINUTE // 2, ps.agg.count(), key=_key))


def join(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    left, right = (ps.values(rows[side::2], time=_at) for side in (0, 1))
    joined = ps.join(left, right, on=_key, within=MINUTE, capacity=1_000_000)
    program = ps.pipe(joined, ps.reduce(lambda total, _: total + 1, 0))
    return lambda: ps.run(program)


def minutes(rows: list[Row]) -> Callable[[], int]:
    import pullstream as ps

    source = ps.values(rows, time=lambda row: row[0] // MINUTE)
    program = ps.pipe(source, ps.count_by_key(_key), ps.reduce(lambda total, pair: total + pair[1], 0))
    return lambda: ps.run(program)


def _key(row: Any) -> str:
    return row[1]


def _at(row: Any) -> Any:
    return row[0]


# ---- Bytewax


def _bytewax(windower: Callable[[Any, datetime], Any], divided: int = 1) -> Way:
    def way(rows: list[Row]) -> Callable[[], int]:
        op, windowing, dataflow, testing = (
            import_module(f"bytewax.{name}") for name in ("operators", "operators.windowing", "dataflow", "testing")
        )
        begin = datetime(2026, 1, 1, tzinfo=UTC)
        timed = [(begin + timedelta(microseconds=at), key) for at, key in rows]
        clock = windowing.EventClock(_at, wait_for_system_duration=timedelta(minutes=1))

        def run() -> int:
            out: list[tuple[str, tuple[int, int]]] = []
            flow = dataflow.Dataflow("bench")
            stream = op.input("in", flow, testing.TestingSource(timed, batch_size=1_000))
            counted = windowing.count_window("count", stream, clock, windower(windowing, begin), _key)
            op.output("out", counted.down, testing.TestingSink(out))
            testing.run_main(flow)
            return sum(count for _, (_, count) in out) // divided

        return run

    return way


def _tumbling(length: timedelta) -> Callable[[Any, datetime], Any]:
    return lambda windowing, begin: windowing.TumblingWindower(align_to=begin, length=length)


def _sliding(windowing: Any, begin: datetime) -> Any:
    return windowing.SlidingWindower(align_to=begin, length=timedelta(minutes=5), offset=timedelta(minutes=1))


def _sessions(windowing: Any, _begin: datetime) -> Any:
    return windowing.SessionWindower(gap=timedelta(seconds=30))


# ---- Spark


def _frame(rows: list[Row]) -> tuple[Any, Path]:
    from adapters import spark

    session = spark.session()
    path = _parquet(rows)
    return session, path


def windows_frame(rows: list[Row], **options: Any) -> Callable[[], int]:
    import pullstream as ps
    from adapters import spark

    session, path = _frame(rows)
    frame = session.read.parquet(str(path))
    source = spark.from_dataframe(frame, time="at", as_="tuples", **options)
    return _total(source, ps.tumbling(5 * MINUTE, ps.agg.count(), key=_key))


def windows_frame_jumbled(rows: list[Row]) -> Callable[[], int]:
    return windows_frame(rows, lateness=MINUTE, late="drop")


def structured_streaming(rows: list[Row]) -> Callable[[], int]:
    from pyspark.sql import functions as sql

    session, path = _frame(rows)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    stream = session.readStream.schema("at long, key string").parquet(str(path.parent))
    timed = stream.select(sql.timestamp_micros("at").alias("at"), "key").withWatermark("at", "1 minute")
    counted = timed.groupBy(sql.window("at", "5 minutes"), "key").count()

    def run() -> int:
        query = counted.writeStream.format("memory").queryName("counted").outputMode("complete")
        query.trigger(availableNow=True).start().awaitTermination()
        return session.table("counted").groupBy().sum("count").first()[0]

    return run


CASES: dict[str, tuple[Callable[[int], list[Row]], dict[str, Way]]] = {
    "windows": (
        out_of_order,
        {
            "loop": windows_loop,
            "late dropped": windows,
            "late aside": windows_late_aside,
            "from Parquet": windows_parquet,
            "Bytewax": _bytewax(_tumbling(timedelta(minutes=5))),
        },
    ),
    "windows, sorted": (
        in_order,
        {
            "loop": windows_loop,
            "values": windows_sorted,
            "from Parquet": windows_parquet_sorted,
            "Bytewax": _bytewax(_tumbling(timedelta(minutes=5))),
        },
    ),
    "sliding": (out_of_order, {"loop": sliding_loop, "here": sliding, "Bytewax": _bytewax(_sliding, 5)}),
    "sessions": (out_of_order, {"loop": sessions_loop, "here": sessions, "Bytewax": _bytewax(_sessions)}),
    "join within": (in_order, {"loop": join_loop, "here": join}),
    "a minute each": (
        in_order,
        {"loop": minutes_loop, "here": minutes, "Bytewax": _bytewax(_tumbling(timedelta(minutes=1)))},
    ),
    "windows of a DataFrame": (
        out_of_order,
        {
            "loop": windows_loop,
            "sorted by Spark": windows_frame,
            "late dropped": windows_frame_jumbled,
            "Structured Streaming": structured_streaming,
        },
    ),
}
SPARK = "windows of a DataFrame"
EVERYTHING = frozenset({"sorted by Spark", "Structured Streaming"})
"""Ways that leave nothing out as late: Spark sorts, and one micro-batch has no watermark yet."""


def measure(case: str, way: str, rows: int) -> None:
    """Run one way, in this process."""
    make, ways = CASES[case]
    try:
        ways[way](make(WARMING))()
        run = ways[way](make(rows))
    except ModuleNotFoundError as exc:
        print(json.dumps({"missing": exc.name}))
        return
    clock = time.perf_counter if case == SPARK else time.process_time
    begin = clock()
    counted = run()
    print(json.dumps({"seconds": clock() - begin, "counted": counted}))


def in_a_process(python: str, case: str, way: str, rows: int) -> dict[str, Any]:
    command = [python, __file__, "--measure", case, way, str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def compare(case: str, rows: int, rounds: int, peer: str) -> None:
    """Print a line for each way of a case."""
    ways = CASES[case][1]
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    troubles: dict[str, str] = {}
    counts: dict[str, int] = {}
    for _ in range(rounds):
        for way in ways:
            if way in troubles:
                continue
            result = in_a_process(peer if way == "Bytewax" else sys.executable, case, way, rows)
            if "seconds" in result:
                seconds[way].append(result["seconds"])
                counts[way] = result["counted"]
            else:
                troubles[way] = f"{result['missing']} is missing" if "missing" in result else result["failed"]
    for way, taken in seconds.items():
        line = f"{case:24} {rows:7,} rows  {way:22}"
        if way in troubles:
            print(f"{line} {troubles[way]}")
            continue
        ratios = [mine / loop for mine, loop in zip(taken, seconds["loop"], strict=True)]
        low, high = min(ratios), max(ratios)
        cost = statistics.median(taken) / rows * 1e6
        other = (
            "" if counts[way] == counts["loop"] or way in EVERYTHING else f"  counted {counts[way] - counts['loop']:+}"
        )
        print(
            f"{line} {statistics.median(ratios):7.1f} x  ({low:.1f} to {high:.1f})  {cost:8.2f} µs a row{other}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default="10000,40000")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--bytewax", default=sys.executable)
    parser.add_argument("--measure", nargs=3)
    told = parser.parse_args()
    if told.measure:
        case, way, rows = told.measure
        measure(case, way, int(rows))
        return
    for case in [told.only] if told.only else CASES:
        if case != SPARK or told.spark or told.only:
            for rows in map(int, told.rows.split(",")):
                compare(case, rows, told.rounds, told.bytewax)


if __name__ == "__main__":
    main()
