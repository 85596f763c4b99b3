"""What reading files costs: against the loop over pyarrow's own readers that gives the same; and in how much memory.

    python tests/benchmarks/bench_files_read.py [MEGABYTES]

Files of that size (1,000 unless said otherwise) are made in a temporary folder. Ratios are of throughputs, ours to the
loop's (1 is equal, more is faster), medians over interleaved repeats: by the clock, and by the processors' time, which
says more on a machine that others use. Memory is the most that a process of its own had resident beyond what it had
before it read, at a quarter of the size and at the whole.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

import pullstream as ps
from adapters import files

REPEATS = 3
ROWS = 100_000
CARRIERS = ["AA", "B6", "DL", "UA", "WN"]


def table(begin: int) -> pa.Table:
    """Some flights, from a number on."""
    numbers = range(begin, begin + ROWS)
    return pa.table(
        {
            "flight": list(numbers),
            "day": [n // 50_000 for n in numbers],
            "carrier": [CARRIERS[n % 5] for n in numbers],
            "delay": [(n * 7919 % 100_003) / 100 for n in numbers],
            "note": [f"gate {n % 90}, belt {n * 31 % 17}" for n in numbers],
        }
    )


def make(kind: str, path: Path, size: int) -> None:
    """A file of so many bytes, or a little more."""
    begin = 0
    with path.open("wb") as file:
        writer = pq.ParquetWriter(file, table(0).schema, compression="none") if kind == "parquet" else None
        while file.tell() < size:
            part = table(begin)
            if writer is not None:
                writer.write_table(part)
            elif kind == "csv":
                pc.write_csv(part, file, pc.WriteOptions(include_header=begin == 0))
            else:
                file.write("".join(json.dumps(row) + "\n" for row in part.to_pylist()).encode())
            begin += ROWS
        if writer is not None:
            writer.close()


def batches(kind: str, path: Path) -> Iterator[pa.RecordBatch]:
    """pyarrow's own way to read a file bit by bit."""
    if kind == "parquet":
        yield from pq.ParquetFile(path).iter_batches()
    elif kind == "csv":
        yield from pc.open_csv(path)
    else:
        yield from pj.open_json(path)


def loop(kind: str, form: str, path: Path) -> int:
    """The loop that one would write by hand; rows come as dicts, which is how pyarrow gives them."""
    count = 0
    if kind == "jsonl" and form == "dicts":
        # What pyarrow makes of JSON is not what stands there.
        with path.open() as file:
            for line in file:
                json.loads(line)
                count += 1
        return count
    for batch in batches(kind, path):
        if form == "batches":
            count += len(batch)
        else:
            rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
            for _ in rows if form == "tuples" else batch.to_pylist():
                count += 1
    return count


def lines(path: Path) -> int:
    """The same of text."""
    count = 0
    with path.open() as file:
        for _ in file:
            count += 1
    return count


READERS: dict[str, Callable[..., ps.Source[Any]]] = {
    "jsonl": files.read_jsonl,
    "csv": files.read_csv,
    "parquet": files.read_parquet,
}


def ours(kind: str, form: str, path: Path) -> int:
    """The toolkit's."""
    if form == "lines":
        return ps.run(ps.pipe(files.read_text(path), ps.drain()))
    source = READERS[kind](path, as_=form)
    if form == "batches":
        return ps.run(ps.pipe(source, ps.map(len), ps.reduce(lambda total, n: total + n, 0)))
    return ps.run(ps.pipe(source, ps.drain()))


def timed(function: Callable[[], int], expected: list[int]) -> tuple[float, float]:
    """Seconds of the clock, and of the processors."""
    start, busy = time.perf_counter(), time.process_time()
    expected.append(function())
    return time.perf_counter() - start, time.process_time() - busy


def compare(kind: str, form: str, path: Path) -> None:
    """Print our throughput as a ratio to the loop's, run in turns."""
    counts: list[int] = []
    baseline = (lambda: lines(path)) if form == "lines" else (lambda: loop(kind, form, path))
    pairs = [(timed(baseline, counts), timed(lambda: ours(kind, form, path), counts)) for _ in range(REPEATS)]
    assert len(set(counts)) == 1, counts
    clock, busy = (statistics.median(theirs[n] / us[n] for theirs, us in pairs) for n in (0, 1))
    size = path.stat().st_size / 1e6
    first, second = (size / min(pair[n][0] for pair in pairs) for n in (0, 1))
    told = f"{kind}, {size:,.0f} MB, {counts[0]:,} rows, as {form}"
    print(f"{told:55} {first:6.0f} MB/s {second:6.0f} MB/s  {clock:.2f} x, processors {busy:.2f} x", flush=True)


def memory(kind: str, form: str, path: Path) -> float:
    """How many megabytes a process of its own takes to read a file."""
    command = [sys.executable, __file__, "--memory", kind, form, str(path)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measured(kind: str, form: str, path: Path) -> None:
    before = peak()
    ours(kind, form, path)
    print(peak() - before)


def peak() -> float:
    """The most that this process had resident so far, in MB."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1e3


FORMS = {"jsonl": ["dicts", "rows", "batches", "lines"], "csv": ["tuples", "rows", "dicts", "batches"]}


def main() -> None:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 1000) * 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        for kind in READERS:
            forms = FORMS.get(kind, FORMS["csv"])
            small, large = Path(folder, f"small.{kind}"), Path(folder, f"large.{kind}")
            make(kind, small, size // 4)
            make(kind, large, size)
            for form in forms:
                compare(kind, form, large)
            for form in forms[:1]:
                first, second = memory(kind, form, small), memory(kind, form, large)
                print(f"{kind}: memory at a quarter of the size and at the whole: {first:.0f} MB, {second:.0f} MB")
            small.unlink()
            large.unlink()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--memory"]:
        measured(sys.argv[2], sys.argv[3], Path(sys.argv[4]))
    else:
        main()
