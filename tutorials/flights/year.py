"""The day files, read back as numbers for the page."""

import json
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Any

import attrs


@attrs.frozen
class Group:
    """Some lines of the day files combined: a day, an airline's week, an airline's year."""

    flights: int
    cancelled: int
    arrived: int
    mean: float | None
    """Minutes late at the gate, over the flights that arrived."""

    @property
    def cancelled_share(self) -> float:
        """The share of cancelled flights, from 0 to 1."""
        return self.cancelled / self.flights if self.flights else 0.0


@attrs.frozen
class Weather:
    """The worst hour of a day."""

    severity: float
    airport: str
    hour: int
    wind_mph: float | None
    rain_in: float | None
    visibility_mi: float | None

    def __str__(self) -> str:
        parts = [
            "" if self.wind_mph is None else f"wind {self.wind_mph:.0f} mph" if self.wind_mph >= 1 else "no wind",
            "" if not self.rain_in else f"rain {self.rain_in:.2f} in",
            "" if self.visibility_mi is None else f"visibility {self.visibility_mi:g} mi",
        ]
        return f"{self.airport} at {self.hour}:00: {', '.join(part for part in parts if part)}"


@attrs.frozen
class Day:
    """All airlines of a day."""

    date: date
    total: Group
    airlines: dict[str, Group]
    weather: Weather | None


@attrs.frozen
class Airline:
    """An airline over all days; ``mean_p90`` is the mean of its days' 90th percentiles, weighted by arrived flights."""

    carrier: str
    name: str
    total: Group
    mean_p90: float | None


@attrs.frozen
class Year:
    """All days, in order, and the airlines, the most punctual first."""

    days: Sequence[Day]
    airlines: Sequence[Airline]
    total: Group


def read(paths: Iterable[Path]) -> Year:
    """Read the day files of a run: at least one."""
    tables = [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in sorted(paths)]
    lines = [line for table in tables for line in table]
    by_airline = groupby(sorted(lines, key=_carrier), key=_carrier)
    airlines = [_airline(list(own)) for _, own in by_airline]
    return Year(
        days=[_day(table) for table in tables],
        airlines=sorted(airlines, key=lambda one: (one.total.mean is None, one.total.mean or 0.0)),
        total=together(_group(line) for line in lines),
    )


def together(groups: Iterable[Group]) -> Group:
    """Combine groups; means are weighted by the number of arrived flights."""
    every = list(groups)
    arrived = sum(group.arrived for group in every)
    late = sum(group.mean * group.arrived for group in every if group.mean is not None)
    return Group(
        flights=sum(group.flights for group in every),
        cancelled=sum(group.cancelled for group in every),
        arrived=arrived,
        mean=late / arrived if arrived else None,
    )


def _carrier(line: dict[str, Any]) -> str:
    return line["carrier"]


def _group(line: dict[str, Any]) -> Group:
    return Group(line["flights"], line["cancelled"], line["arrived"], line["mean_arr_delay"])


def _day(table: list[dict[str, Any]]) -> Day:
    airlines = {line["carrier"]: _group(line) for line in table}
    return Day(date.fromisoformat(table[0]["day"]), together(airlines.values()), airlines, _weather(table[0]))


def _weather(line: dict[str, Any]) -> Weather | None:
    if line["weather_severity"] is None:
        return None
    fields = ("severity", "airport", "hour", "wind_mph", "rain_in", "visibility_mi")
    return Weather(*(line[f"weather_{field}"] for field in fields))


def _airline(lines: list[dict[str, Any]]) -> Airline:
    total = together(map(_group, lines))
    tops = sum(line["p90_arr_delay"] * line["arrived"] for line in lines if line["arrived"])
    return Airline(
        carrier=lines[0]["carrier"],
        name=lines[0]["airline"],
        total=total,
        mean_p90=tops / total.arrived if total.arrived else None,
    )
