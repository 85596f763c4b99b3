"""The pipeline of `pipeline.py` in columns: one polars query for each complete day, and no Python rows.

The source is the same: `day_by_day`, or files. It needs the extra ``columns``.
"""

from pathlib import Path

import polars as pl

import pullstream as ps
from pullstream import columns, files
from tutorials.flights.pipeline import literal
from tutorials.flights.summary import Flight

WEATHER = {
    "weather_severity": "severity",
    "weather_airport": "origin",
    "weather_hour": "hour",
    "weather_wind_mph": "wind_mph",
    "weather_rain_in": "rain_in",
    "weather_visibility_mi": "visibility_mi",
}
"""The columns of a day's worst hour, and what they are of a flight."""


def daily_delays_in_columns(flights: ps.Source[Flight], folder: Path) -> ps.Pipeline[list[Path]]:
    """Write a line per airline into each day's file, as `daily_delays` does."""
    return ps.pipe(
        flights,
        columns.per_time(day_table),  # runs when the day is complete
        files.write_jsonl(f"{literal(folder)}/{{time}}.jsonl"),
    )


def day_table(flights: pl.LazyFrame) -> pl.LazyFrame:
    """Query the lines of a day: a row for each airline, each with the worst hour of the whole day."""
    airlines = flights.group_by("carrier").agg(
        pl.col("day", "airline").last(),
        flights=pl.len(),
        cancelled=pl.col("cancelled").sum(),
        arrived=pl.col("arr_delay").count(),
        mean_arr_delay=pl.col("arr_delay").mean(),
        p90_arr_delay=pl.col("arr_delay").quantile(0.9, "linear"),
    )
    # Of equally bad hours the earliest, then the alphabetically first airport; an unrecorded one if there is no other.
    order = {"descending": [True, False, False], "nulls_last": True}
    worst = flights.sort("severity", "hour", "origin", **order).head(1)  # type: ignore[arg-type]
    recorded = pl.col("severity").is_not_null()
    hour = worst.select(pl.when(recorded).then(pl.col(name)).alias(made) for made, name in WEATHER.items())
    lines = airlines.select("day", "carrier", pl.all().exclude("day", "carrier"))
    return lines.join(hour, how="cross").sort("carrier")
