"""The summary of a day, by two folds: the flights of one airline's day, then the airlines of a day.

>>> from functools import reduce
>>> flights = [
...     Flight(date(2013, 1, 1), "UA", "United Air Lines Inc.", False, delay, "EWR", 5, 0.4, 18.4, 0.0, 10.0)
...     for delay in (11, 20, 5, None)
... ]
>>> fold = airline_day()
>>> united = fold.finish(reduce(fold.step, flights, fold.initial()))
>>> united.flights, united.cancelled, united.mean_arr_delay, united.p90_arr_delay
(4, 0, 12.0, 18.2)
"""

from collections.abc import Iterable
from datetime import date
from statistics import fmean, quantiles
from typing import NamedTuple

import attrs

import pullstream as ps


class Flight(NamedTuple):
    """A row from Spark; ``query`` describes each column."""

    day: date
    carrier: str
    airline: str
    cancelled: bool
    arr_delay: int | None
    origin: str
    hour: int
    severity: float | None
    wind_mph: float | None
    rain_in: float | None
    visibility_mi: float | None


class Hour(NamedTuple):
    """An hour of weather at an airport; the fields are named as in a day's file."""

    weather_severity: float | None = None
    weather_airport: str | None = None
    weather_hour: int | None = None
    weather_wind_mph: float | None = None
    weather_rain_in: float | None = None
    weather_visibility_mi: float | None = None


UNRECORDED = Hour()


@attrs.frozen
class AirlineDay:
    """One airline's day. The delays are those of the flights that arrived, and None if none did."""

    day: date
    carrier: str
    airline: str
    flights: int
    cancelled: int
    arrived: int
    mean_arr_delay: float | None
    p90_arr_delay: float | None
    worst: Hour

    def line(self, worst: Hour) -> dict[str, object]:
        """Return the line of the day's file, with the worst hour of the whole day."""
        own = attrs.asdict(self, filter=attrs.filters.exclude("worst"))
        return {**own, "day": self.day.isoformat(), **worst._asdict()}


@attrs.define
class _Tally:
    """The running totals of an airline's day."""

    last: Flight | None = None
    flights: int = 0
    cancelled: int = 0
    delays: list[int] = attrs.Factory(list[int])
    worst: Hour = UNRECORDED

    def add(self, flight: Flight) -> "_Tally":
        self.last = flight
        self.flights += 1
        self.cancelled += flight.cancelled
        if flight.arr_delay is not None:
            self.delays.append(flight.arr_delay)
        # Most hours are not worse than the worst so far, so an Hour is created only for the few that may be.
        if flight.severity is not None and flight.severity >= (self.worst.weather_severity or 0.0):
            self.worst = worse([self.worst, weather_of(flight)])
        return self

    def summary(self) -> AirlineDay:
        assert self.last is not None, "a fold begins with its first value"
        return AirlineDay(
            day=self.last.day,
            carrier=self.last.carrier,
            airline=self.last.airline,
            flights=self.flights,
            cancelled=self.cancelled,
            arrived=len(self.delays),
            mean_arr_delay=fmean(self.delays) if self.delays else None,
            p90_arr_delay=percentile_90(self.delays),
            worst=self.worst,
        )


def airline_day() -> ps.Fold[Flight, AirlineDay]:
    """Fold one airline's flights of a day. It stores one number per flight, until the day is complete."""
    return ps.Fold(_Tally, _Tally.add, _Tally.summary)


def day_table() -> ps.Fold[tuple[str, AirlineDay], list[dict[str, object]]]:
    """Fold the airlines of a day into the lines of its file, in alphabetical order.

    The weather is the same for every airline, so each line has the worst hour of the whole day.
    """

    def lines(airlines: list[AirlineDay]) -> list[dict[str, object]]:
        worst = worse(airline.worst for airline in airlines)
        return [airline.line(worst) for airline in sorted(airlines, key=lambda airline: airline.carrier)]

    def add(airlines: list[AirlineDay], pair: tuple[str, AirlineDay]) -> list[AirlineDay]:
        return [*airlines, pair[1]]

    return ps.Fold(list[AirlineDay], add, lines)


def percentile_90(delays: list[int]) -> float | None:
    """Return the 90th percentile, interpolated linearly between neighbours as pandas does.

    >>> percentile_90([10, 0]), percentile_90([7]), percentile_90([])
    (9.0, 7.0, None)
    """
    if len(delays) < 2:
        return float(delays[0]) if delays else None
    return quantiles(delays, n=10, method="inclusive")[-1]


def weather_of(flight: Flight) -> Hour:
    """Return the weather where and when a flight was due to leave."""
    if flight.severity is None:
        return UNRECORDED
    return Hour(flight.severity, flight.origin, flight.hour, flight.wind_mph, flight.rain_in, flight.visibility_mi)


def worse(hours: Iterable[Hour]) -> Hour:
    """Return the hour of greatest severity; of equal ones the earliest, then the alphabetically first airport.

    Only hours in which a flight was due to leave count: a storm at three in the morning delays nobody. An unrecorded
    hour is chosen only if there is no other.

    >>> worse([Hour(0.5, "LGA", 9), UNRECORDED, Hour(1.5, "JFK", 17), Hour(1.5, "EWR", 17)])[:3]
    (1.5, 'EWR', 17)
    """
    return min(hours, key=_badness)


def _badness(hour: Hour) -> tuple[float, int, str]:
    if hour.weather_severity is None:
        return 1.0, 0, ""
    return -hour.weather_severity, hour.weather_hour or 0, hour.weather_airport or ""
