"""The chart of the page: for each workload the ratios of all toolkits, on a logarithmic axis, as SVG."""

from html import escape
from math import ceil, floor, log10

from tests.benchmarks.results import Results
from tests.benchmarks.tables import number
from tests.benchmarks.workload import HERE, Workload

WIDTH, LEFT, RIGHT, TOP, ROW = 900, 230, 30, 70, 34
COLOURS = {
    HERE: "#d1495b",
    "trio by hand": "#5b5f97",
    "streamable": "#2a9d8f",
    "aiostream": "#8ab17d",
    "reactivex": "#e9a03b",
    "streamz": "#a0785a",
    "bytewax": "#3a86c8",
    "pathway": "#b07aa1",
    "Spark": "#6c757d",
}


def chart(results: Results, workloads: dict[str, Workload]) -> str:
    """The chart: a point is a toolkit's median, and the line through it is the spread."""
    rows = [row for row in results.rows if not row.variant]
    names = [name for name in workloads if any(row.workload == name for row in rows)]
    spreads = [row.ratio for row in rows]
    low = floor(log10(min(0.9, *(spread.least for spread in spreads))))
    high = max(1, ceil(log10(max(spread.most for spread in spreads))))
    height = TOP + ROW * len(names) + 20

    def x(ratio: float) -> float:
        return LEFT + (log10(ratio) - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
        # Without a background, and in a grey that is readable on light and dark pages.
        "<style>text { font-size: 13px; fill: #7d7d7d }</style>",
        "<title>Costs as ratios to plain Python</title>",
    ]
    toolkits = [toolkit for toolkit in COLOURS if any(row.toolkit == toolkit for row in rows)]
    for place, toolkit in enumerate(toolkits):
        at = 20 + place * (WIDTH - 20) / len(COLOURS)
        parts.append(f'<circle cx="{at:.0f}" cy="20" r="5" fill="{COLOURS[toolkit]}"/>')
        parts.append(f'<text x="{at + 9:.0f}" y="24">{escape(toolkit)}</text>')
    for power in range(low, high + 1):
        at, bold = x(10.0**power), ' stroke-width="2"' if power == 0 else ""
        parts.append(f'<line x1="{at:.1f}" y1="{TOP - 14}" x2="{at:.1f}" y2="{height - 16}" stroke="#8888"{bold}/>')
        label = "the limit" if power == 0 else f"× {10.0**power:,g}"
        parts.append(f'<text x="{at:.1f}" y="{TOP - 20}" text-anchor="middle">{label}</text>')
    for place, name in enumerate(names):
        y = TOP + ROW * place + ROW / 2
        title = escape(f"{name} {workloads[name].title}")
        parts.append(f'<text x="{LEFT - 14}" y="{y + 4:.1f}" text-anchor="end">{title}</text>')
        # This toolkit's point is drawn last, above the others.
        for row in sorted(results.of(name), key=lambda row: row.toolkit == HERE):
            if row.variant or row.toolkit not in COLOURS:
                continue
            found, colour, size = row.ratio, COLOURS[row.toolkit], 7 if row.toolkit == HERE else 5
            left, middle, right = (f"{x(ratio):.1f}" for ratio in (found.least, found.median, found.most))
            parts += [
                f"<g><title>{escape(row.name)}: {number(found.median)} × the limit</title>",
                f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{colour}"/>',
                f'<circle cx="{middle}" cy="{y:.1f}" r="{size}" fill="{colour}"/></g>',
            ]
    return "\n".join([*parts, "</svg>", ""])
