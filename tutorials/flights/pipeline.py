"""The whole program: from Spark's rows to a file a day.

Nothing here says when a day is over. Spark delivers the rows day by day. The run's progress tracks when no more rows of
a day can come; then the folds emit their results, and the file appears.
"""

from operator import attrgetter
from pathlib import Path

from pyspark.sql import DataFrame

import pullstream as ps
from pullstream import files, spark
from tutorials.flights.summary import AirlineDay, Flight, airline_day, day_table


def daily_delays(flights: ps.Source[Flight], folder: Path) -> ps.Pipeline[list[Path]]:
    """Write a line per airline into each day's file; the result is the list of the files."""
    return ps.pipe(
        flights,
        ps.reduce_by_key(airline_day(), key=attrgetter("carrier")).named(
            "by airline"
        ),  # a result each, per complete day
        ps.reduce_by_key(day_table(), key=_the_day).named("by day"),  # all of them together
        ps.flat_map(_lines),
        files.write_jsonl(f"{literal(folder)}/{{time}}.jsonl"),  # appears when the day is complete, and not before
    )


def day_by_day(flights: DataFrame) -> ps.Source[Flight]:
    """Read the flights in the order of their days; Spark sorts them."""
    return spark.from_dataframe(flights, time="day")


def _the_day(pair: tuple[str, AirlineDay]) -> object:
    return pair[1].day


def _lines(pair: tuple[object, list[dict[str, object]]]) -> list[dict[str, object]]:
    return pair[1]


def literal(folder: Path) -> str:
    """Return a folder for a target in which braces have a meaning."""
    return str(folder).replace("{", "{{").replace("}", "}}")
