"""Count how much there is to read: non-blank lines, and the calls of a small program inside the toolkit.

    python -m tests.size

A call path counts the files, functions and calls of `pullstream`, `timely` and `adapters` that one run of a program
passes through, with everything loaded beforehand. The setup of the run is included.
"""

import sys
from pathlib import Path

import trio

import pullstream as ps

ROOT = Path(__file__).parents[1]
PARTS = {
    "engine": ["pullstream/engine"],
    "product": ["pullstream", "timely", "adapters"],
    "tests": ["tests"],
    "of these, benchmarks": ["tests/benchmarks"],
}
OURS = tuple(str(ROOT / folder) for folder in ("pullstream", "timely", "adapters"))


def lines(folders):
    """The non-blank lines of all Python files in some folders."""
    files = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sum(1 for path in files for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


@ps.transformer
async def counted(upstream, ctx):
    """Emit the number of values at each time, when the time is complete."""
    numbers = {}
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Completed):
            yield ps.Batch(event.time, [numbers.pop(event.time)])
        else:
            ctx.notify_at(event.time)
            numbers[event.time] = numbers.get(event.time, 0) + len(event.values)


def refused(value):
    """Fail for a value of the programs."""
    raise ValueError(value)


def timed():
    """Four values, at three times."""
    return ps.values([0, 0, 1, 2], time=int)


WALKS = {
    "values, map, collect": lambda: ps.pipe(ps.values(range(4)), ps.map(str), ps.collect()),
    "values, count_by_key, collect": lambda: ps.pipe(timed(), ps.count_by_key(), ps.collect()),
    "values, count_by_key, first": lambda: ps.pipe(timed(), ps.count_by_key(), ps.first()),
    "notify_at, completion, yield": lambda: ps.pipe(timed(), counted(), ps.collect()),
    "abort of map, prefetch, take": lambda: ps.pipe(
        ps.integers(), ps.map(str), ps.prefetch(2), ps.take(2), ps.collect()
    ),
    "an error in a map": lambda: ps.pipe(ps.values([1]), ps.map(refused), ps.collect()),
}


def walk(compose):
    """The numbers of files, functions and calls that a run takes."""
    calls = []

    def called(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(OURS):
            calls.append(frame.f_code)

    async def run(pipeline):
        try:
            async with pipeline.open() as running:
                await running.result()
        except ValueError:
            pass

    trio.run(run, compose())
    pipeline = compose()
    sys.setprofile(called)
    try:
        trio.run(run, pipeline)
    finally:
        sys.setprofile(None)
    return len({code.co_filename for code in calls}), len(set(calls)), len(calls)


def main():
    """Print both tables."""
    print("| part | lines |\n| --- | --- |")
    for part, folders in PARTS.items():
        print(f"| {part} | {lines(folders):,} |")
    print("\n| call path | files | functions | calls |\n| --- | --- | --- | --- |")
    for name, compose in WALKS.items():
        print(f"| {name} | {' | '.join(f'{count:,}' for count in walk(compose))} |")


if __name__ == "__main__":
    main()
