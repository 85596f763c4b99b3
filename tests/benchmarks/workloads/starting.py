"""The cost of starting: an import, and a program up to its first value: W11a and W11b."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from textwrap import dedent

from tests.benchmarks.workload import HERE, LIMIT, ROOT, TOOLKITS, Target, Workload

IMPORT = Workload(
    "W11a",
    "an import",
    "Import the toolkit in a new process, with compiled files in place. The limit is an import of trio. pullstream "
    "loads most of its code at the first use, which W11b includes.",
    full=5,
    quick=3,
    smoke=1,
    unit="import",
    own_time=True,
    target=Target(1.5),
)
FIRST = Workload(
    "W11b",
    "the first value",
    "Start a new process, including the interpreter, until a map over a few numbers has its first value. The limit is "
    "an async generator on trio.",
    full=5,
    quick=3,
    smoke=1,
    unit="start",
    own_time=True,
    target=Target(1.5),
)

MODULES = {
    "bytewax": "bytewax.operators, bytewax.dataflow, bytewax.testing",
    LIMIT: "trio",
    "Spark": "pyspark.sql",
}
PROGRAMS = {
    LIMIT: """
        import trio
        async def given():
            for n in range(5):
                yield n + 1
        async def main():
            async for n in given():
                seen(n)
        trio.run(main)
    """,
    HERE: """
        import pullstream as ps
        ps.run(ps.pipe(ps.values(range(5)), ps.map(lambda n: n + 1), ps.drain(seen)))
    """,
    "streamable": """
        from streamable import stream
        for n in stream(range(5)).map(lambda n: n + 1):
            seen(n)
    """,
    "aiostream": """
        import asyncio
        from aiostream import pipe, stream
        async def main():
            async with (stream.range(5) | pipe.map(lambda n: n + 1)).stream() as numbers:
                async for n in numbers:
                    seen(n)
        asyncio.run(main())
    """,
    "reactivex": """
        import reactivex as rx
        from reactivex import operators as ops
        rx.from_iterable(range(5)).pipe(ops.map(lambda n: n + 1)).subscribe(seen)
    """,
    "streamz": """
        from streamz import Stream
        source = Stream()
        source.map(lambda n: n + 1).sink(seen)
        for n in range(5):
            source.emit(n)
    """,
    "bytewax": """
        import bytewax.operators as op
        from bytewax.dataflow import Dataflow
        from bytewax.testing import TestingSource, TestingSink, run_main
        flow = Dataflow("first")
        numbers = op.map("more", op.input("in", flow, TestingSource(range(5))), lambda n: n + 1)
        op.output("out", op.inspect("seen", numbers, lambda _, n: seen(n)), TestingSink([]))
        run_main(flow)
    """,
    "pathway": """
        import pathway as pw
        table = pw.debug.table_from_rows(pw.schema_from_types(n=int), [(n,) for n in range(5)])
        made = table.select(n=pw.this.n + 1)
        pw.io.subscribe(made, lambda key, row, time, is_addition: seen(row["n"]))
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    """,
}
SEEN = """\
import time
def seen(n, first=[]):
    if not first:
        first.append(n)
        print("SECONDS", time.process_time(), flush=True)
"""


def seconds(program):
    """The seconds that a new process prints; it keeps compiled files for the next one, as in an installation."""
    command = [sys.executable, "-c", program]
    compiled = str(Path(tempfile.gettempdir()) / "compiled")
    env = os.environ | {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("SECONDS")]
    return float(line.split()[1])


def repeated(program):
    """`size` processes, one after another, after one that compiles."""

    def prepare(size):
        seconds(program)
        return lambda: (sum(seconds(program) for _ in range(size)), "has run")

    return prepare


def importing(modules):
    took = "print('SECONDS', time.process_time() - begin)"
    return f"import time; begin = time.process_time(); import {modules}; {took}"


for toolkit, program in PROGRAMS.items():
    IMPORT.way(toolkit)(repeated(importing(MODULES.get(toolkit, str(TOOLKITS[toolkit])))))
    FIRST.way(toolkit)(repeated(SEEN + dedent(program)))
