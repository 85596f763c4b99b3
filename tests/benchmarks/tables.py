"""Results as text: a table on the terminal, and a page of Markdown."""

import statistics
from collections.abc import Iterable

from tests.benchmarks.results import Results, Row, Spread
from tests.benchmarks.workload import HERE, LIMIT, TOOLKITS, Target, Workload

HEAD = "toolkit", "a value", "× the limit", "fresh process", "memory"


def number(value: float) -> str:
    """A number with its significant digits."""
    return f"{value:.2f}" if value < 9.95 else f"{value:,.0f}"


def took(microseconds: float) -> str:
    """The cost of a value, in the most readable unit."""
    if microseconds < 1:
        return f"{microseconds * 1000:,.0f} ns"
    return f"{microseconds:,.1f} µs" if microseconds < 1000 else f"{microseconds / 1000:,.1f} ms"


def shown(spread: Spread) -> str:
    return f"{number(spread.median)} ({number(spread.least)} to {number(spread.most)})"


def cells(row: Row) -> tuple[str, ...]:
    costs = took(row.microseconds), shown(row.ratio), shown(row.first_ratio)
    return row.name, *costs, f"{row.megabytes:,.0f} MB"


def line(row: Row) -> str:
    name, a_value, warm, first, memory = cells(row)
    return f"{row.workload:5} {name:32} {a_value:>10} {warm:>26} × {first:>26} × fresh {memory:>10}"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table of Markdown: words in the first column, figures in the others."""
    head = list(head)
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    return [*lines, *(f"| {' | '.join(cells)} |" for cells in rows)]


def against(results: Results, workload: Workload, target: Target) -> tuple[float, float | None] | None:
    """This toolkit's cost as a ratio to its target's reference, and a fresh process's to the limit."""
    rows = {row.name: row for row in results.of(workload.name)}
    if HERE not in rows or (target.to != LIMIT and target.to not in rows):
        return None
    mine = rows[HERE].ratio.median
    base = 1.0 if target.to == LIMIT else rows[target.to].ratio.median
    return mine / base, rows[HERE].first_ratio.median if target.first is not None else None


def verdict(found: float, most: float) -> str:
    return f"{number(found)} ≤ {most:g}" if found <= most else f"**{number(found)} > {most:g}**"


def targets(results: Results, workloads: Iterable[Workload]) -> list[str]:
    """The targets, and whether they are met."""
    rows: list[tuple[str, ...]] = []
    for workload in workloads:
        target = workload.target
        found = against(results, workload, target) if target else None
        others = [row for row in results.of(workload.name) if row.toolkit in PEERS]
        mine = [row for row in results.of(workload.name) if row.name == HERE]
        if not mine or not (found or others):
            continue
        cells = ["", ""]
        if target and found:
            cells[0] = f"{verdict(found[0], target.ratio)} × {target.to}"
            if target.first is not None and found[1] is not None:
                cells[0] += f"; fresh process {verdict(found[1], target.first)}"
        if others:
            best = min(others, key=lambda row: row.ratio.median)
            ahead = mine[0].ratio.median <= best.ratio.median
            times = number(best.ratio.median / mine[0].ratio.median)
            cells[1] = f"{best.name}: {times} × ours" if ahead else f"**{best.name}: {times} × ours**"
        rows.append((f"{workload.name} {workload.title}", *cells))
    return table(("workload", "aim", "the cheapest peer"), rows) if rows else []


PEERS = [toolkit for toolkit in TOOLKITS if toolkit not in (LIMIT, HERE, "trio by hand", "Spark")]


def growth(results: Results) -> list[str]:
    """The curves as a table."""
    rows = [
        (
            curve.says,
            " · ".join(f"{count:,}" for count in curve.counts),
            " · ".join(number(seconds) for seconds in curve.seconds),
            f"{curve.slope(curve.seconds):.2f}",
            f"{curve.memory} ({max(curve.megabytes, default=0):,.0f} MB)",
        )
        for curve in results.curves
    ]
    return table(("what grows", "to", "seconds", "slope", "memory"), rows) if rows else []


INTRODUCTION = """\
# How fast it is

<!-- Written by `python -m tests.benchmarks --plot`: not to be edited. -->

Each workload has one correct result, which every implementation must produce. Figures are ratios to the limit: fast
plain Python (`map`, `itertools`, `Counter`). Each measurement runs in its own process, right after a measurement of the
limit in another process. A ratio is the median of {repeat} such pairs, measured in rounds over all implementations; the
least and the greatest are in brackets. Costs are the processor time of all threads in warm runs; *fresh process* is the
first run. A toolkit that cannot do a workload is not listed there.
"""


def page(results: Results, workloads: dict[str, Workload], chart: str) -> str:
    """The page for the docs, with all its figures from the results."""
    toolkits = ", ".join(f"{toolkit} {version}" for toolkit, version in results.versions.items() if version)
    began, ended = results.loads[0], results.loads[-1]
    quiet = began < 1 and ended < 3
    busy = ", from the benchmark itself." if quiet else ": other programs were running, so the figures are rough."
    sizes = "" if results.pace == "full" else f" at the sizes of `--{results.pace}`"
    minutes = f"{results.seconds / 60:.0f} minutes"
    lines = [
        INTRODUCTION.format(repeat=results.repeat),
        f"Measured on {results.began[:10]} in {minutes}{sizes}: {results.machine}; {toolkits}.",
        f"The machine's load was {began:g} at the beginning and {ended:g} at the end{busy}",
        "",
        "```",
        "python -m pip install '.[test]' --group bench && python -m tests.benchmarks --plot",
        "```",
        "",
    ]
    if results.missing:
        lines += [f"Not installed, and therefore not measured: {', '.join(results.missing)}.", ""]
    if results.rows:
        lines += [f"![Costs of all toolkits, as ratios to the limit]({chart})", ""]
        lines += ["## In short", "", *targets(results, workloads.values()), ""]
    for workload in workloads.values():
        rows = results.of(workload.name)
        if not rows:
            continue
        lines += [f"## {workload.name}: {workload.title}", "", workload.says, ""]
        if workload.by_the_clock:
            lines += ["Measured by the clock, because other processes take part.", ""]
        # The limit is measured with every way, at the size of that way.
        limit = statistics.median(found.warm / row.size for row in rows for found, _ in row.pairs) * 1e6
        article = "an" if workload.unit[0] in "aeiou" else "a"
        lines += table((HEAD[0], f"{article} {workload.unit}", *HEAD[2:]), map(cells, rows))
        most = max(row.size for row in rows)
        lines += ["", f"The limit: {took(limit)} {article} {workload.unit}, for {most:,} in one run.", ""]
        for row in rows:
            words = [f"{row.size:,} {workload.unit}s"] * (row.size < most) + [row.note] * bool(row.note)
            lines += [f"- {row.name}: {'; '.join(words)}."] * bool(words)
        lines += [""]
    if results.curves:
        lines += [
            "## How costs grow",
            "",
            "The slope is the exponent between the last two counts: 1 means that the cost is proportional.",
            "",
        ]
        lines += [*growth(results), ""]
    if results.troubles:
        lines += [
            "## Workloads without a figure",
            "",
            *(f"- {name}: {why}" for name, why in results.troubles.items()),
            "",
        ]
    return "\n".join(lines)
