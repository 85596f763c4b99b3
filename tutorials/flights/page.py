"""The page at the end: one self-contained HTML file, made only from the day files."""

import json
from collections.abc import Sequence
from pathlib import Path
from string import Template

from tutorials.flights import figure
from tutorials.flights.scale import BOUNDS
from tutorials.flights.svg import element, text
from tutorials.flights.year import Day, Year, read

TEMPLATE = Path(__file__).with_name("page.html")
MEMORABLE = 3


def write(days: Sequence[Path], target: Path) -> Path:
    """Write the page about these day files, at least one, under a temporary name, and rename it."""
    beside = target.with_name(f".{target.name}.part")
    beside.unlink(missing_ok=True)
    # Mode x never writes through a link that someone else has put there.
    with beside.open("x", encoding="utf-8") as file:
        file.write(html(read(days)))
    return beside.replace(target)


def html(year: Year) -> str:
    """Fill in the template."""
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=text(_title(year)),
        summary=text(_summary(year)),
        facts="".join(_facts(year)),
        legend=figure.legend(),
        figure=figure.figure(year),
        table=_table(year),
        data=json.dumps(_data(year), separators=(",", ":")).replace("<", "\\u003c"),
    )


def _title(year: Year) -> str:
    first, last = year.days[0].date, year.days[-1].date
    if len(year.days) > 360:
        return f"A year of flights from New York, {first.year}"
    if first == last:
        return f"Flights from New York, {first.day} {first:%B %Y}"
    return f"Flights from New York, {first.day} {first:%B} to {last.day} {last:%B %Y}"


def _summary(year: Year) -> str:
    total = year.total
    return (
        f"{total.flights:,} flights left or should have left JFK, LaGuardia and Newark. {total.cancelled:,} were "
        f"cancelled ({total.cancelled_share:.1%}); those that arrived were {figure.minutes(total.mean)} on average."
    )


def _facts(year: Year) -> list[str]:
    """Choose memorable days, if there are enough."""
    if len(year.days) <= MEMORABLE:
        return []
    arrived = [day for day in year.days if day.total.mean is not None]
    latest = max(arrived, key=_mean, default=None)
    best = min(arrived, key=_mean, default=None)
    emptiest = max(year.days, key=lambda day: day.total.cancelled_share)
    roughest = max((day for day in year.days if day.weather), key=_severity, default=None)
    return [
        *(_fact("Latest day", latest, f"{figure.minutes(latest.total.mean)} on average") if latest else []),
        *_fact(
            "Most cancelled", emptiest, f"{emptiest.total.cancelled_share:.0%} of {emptiest.total.flights:,} flights"
        ),
        *(_fact("Roughest hour", roughest, str(roughest.weather)) if roughest else []),
        *(_fact("Best day", best, f"{figure.minutes(best.total.mean)} on average") if best else []),
    ]


def _fact(kind: str, day: Day, words: str) -> list[str]:
    shown = f"{day.date.day} {day.date:%B}"
    return [element("div", element("dt", kind), element("dd", element("b", shown), element("span", text(words))))]


def _mean(day: Day) -> float:
    return day.total.mean or 0.0


def _severity(day: Day) -> float:
    return day.weather.severity if day.weather else 0.0


def _table(year: Year) -> str:
    """Return the airlines as a table, for reading and for screen readers."""
    names = ("Airline", "Flights", "Cancelled", "Mean arrival delay (min)", "90th percentile of a day, mean (min)")
    head = element("tr", *(element("th", text(name), scope="col") for name in names))
    rows = [
        element(
            "tr",
            element("th", text(airline.name), scope="row"),
            element("td", f"{airline.total.flights:,}"),
            element("td", f"{airline.total.cancelled:,}"),
            element("td", "–" if airline.total.mean is None else f"{airline.total.mean:.1f}"),
            element("td", "–" if airline.mean_p90 is None else f"{airline.mean_p90:.1f}"),
        )
        for airline in year.airlines
    ]
    return element("table", element("thead", head), element("tbody", *rows))


def _data(year: Year) -> dict[str, object]:
    """Return the data for one airline's days on the page: flights, cancelled, mean delay."""
    return {
        "bounds": BOUNDS,
        "airlines": {
            airline.carrier: {
                "name": airline.name,
                "days": [
                    [own.flights, own.cancelled, None if own.mean is None else round(own.mean, 1)]
                    if (own := day.airlines.get(airline.carrier))
                    else None
                    for day in year.days
                ],
            }
            for airline in year.airlines
        },
    }
