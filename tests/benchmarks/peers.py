"""How toolkits are driven that want more than a line for it; all are imported when they are asked for."""

from collections.abc import Callable, Coroutine
from importlib import import_module
from typing import Any

import trio


def piped(*parts: Any) -> Any:
    """A pipeline of however many parts, as `ps.pipe` makes it."""
    import pullstream as ps

    pipe: Any = ps.pipe
    return pipe(*parts)


def counted_here(source: Any) -> Callable[[], int]:
    """How many values a source has, counted by the batch."""
    import pullstream as ps

    program = piped(source, ps.map_batches(lambda values: [len(values)]), ps.reduce(int.__add__, 0))
    return lambda: ps.run(program)


def in_asyncio(function: Callable[[], Coroutine[Any, Any, Any]]) -> Callable[[], Any]:
    """An async function of asyncio's, run."""
    import asyncio

    return lambda: asyncio.run(function())


def in_trio(function: Callable[[], Coroutine[Any, Any, Any]]) -> Callable[[], Any]:
    """An async function of trio's, run."""
    return lambda: trio.run(function)


def bytewax_list(build: Callable[[Any, Callable[..., Any]], Any]) -> Callable[[], list[Any]]:
    """What a dataflow of Bytewax puts out; `build(op, given)` makes it, and `given(values or source)` its inputs."""
    op, dataflow, testing = (import_module(f"bytewax.{name}") for name in ("operators", "dataflow", "testing"))

    def run() -> list[Any]:
        out: list[Any] = []
        flow = dataflow.Dataflow("bench")
        inputs = 0

        def given(values: Any) -> Any:
            nonlocal inputs
            inputs += 1
            # Its default is a value at a time, which is its worst; a thousand is what its guide uses.
            source = testing.TestingSource(values, batch_size=1_000) if hasattr(values, "__iter__") else values
            return op.input(f"in{inputs}", flow, source)

        op.output("out", build(op, given), testing.TestingSink(out))
        testing.run_main(flow)
        return out

    return run


def pathway_rows(build: Callable[[Any], Any]) -> Callable[[], list[tuple[Any, ...]]]:
    """The rows that are left in a table of Pathway's when all is computed, as tuples; `build(pw)` makes the table."""

    pw: Any = import_module("pathway")
    graph: Any = import_module("pathway.internals.parse_graph").G

    def run() -> list[tuple[Any, ...]]:
        graph.clear()  # which all programs of a process have in common
        rows: dict[Any, tuple[Any, ...]] = {}

        def change(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
            if is_addition:
                rows[key] = tuple(row.values())
            else:
                rows.pop(key, None)

        pw.io.subscribe(build(pw), change)
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
        return list(rows.values())

    return run


def pathway_table(pw: Any, rows: list[tuple[Any, ...]], **columns: type) -> Any:
    """A table of Pathway's with these rows."""
    return pw.debug.table_from_rows(pw.schema_from_types(**columns), rows)
