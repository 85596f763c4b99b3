"""Functions to run toolkits that need more than a line for it; each imports its toolkit on first use."""

from importlib import import_module

import trio


def counted_here(source):
    """A program that counts the values of a source, batch by batch."""
    import pullstream as ps

    program = ps.pipe(source, ps.map_batches(lambda values: [len(values)]), ps.reduce(int.__add__, 0))
    return lambda: ps.run(program)


def in_asyncio(function):
    import asyncio

    return lambda: asyncio.run(function())


def in_trio(function):
    return lambda: trio.run(function)


def bytewax_list(build):
    """A run of a Bytewax dataflow: `build(op, given)` makes it, and `given(values or source)` its inputs."""
    op, dataflow, testing = (import_module(f"bytewax.{name}") for name in ("operators", "dataflow", "testing"))

    def run():
        out = []
        flow = dataflow.Dataflow("bench")
        inputs = 0

        def given(values):
            nonlocal inputs
            inputs += 1
            # The default of one value is its worst case; its guide uses a thousand.
            source = testing.TestingSource(values, batch_size=1_000) if hasattr(values, "__iter__") else values
            return op.input(f"in{inputs}", flow, source)

        op.output("out", build(op, given), testing.TestingSink(out))
        testing.run_main(flow)
        return out

    return run


def pathway_rows(build):
    """A run that returns the final rows of a Pathway table as tuples; `build(pw)` makes the table."""
    pw = import_module("pathway")
    graph = import_module("pathway.internals.parse_graph").G

    def run():
        graph.clear()  # all programs of a process share it
        rows = {}

        def change(key, row, time, is_addition):
            if is_addition:
                rows[key] = tuple(row.values())
            else:
                rows.pop(key, None)

        pw.io.subscribe(build(pw), change)
        pw.run(monitoring_level=pw.MonitoringLevel.NONE)
        return list(rows.values())

    return run


def pathway_table(pw, rows, **columns):
    """A Pathway table with these rows."""
    return pw.debug.table_from_rows(pw.schema_from_types(**columns), rows)
