"""Spark's part of the job: read, clean, join. Nothing is collected here; a DataFrame is only a plan.

A flight's row, as the pipeline receives it:

=============  =====================================================================================
day            the date of the flight's own year, month and day columns
carrier        two letters; ``airline`` is its name (the letters again if it has none)
cancelled      True if it never left: ``dep_time`` is missing
arr_delay      minutes late at the gate, negative when early; null if it never arrived: it was
               cancelled, or it left and was diverted
origin, hour   the airport, and the hour in which it was due to leave
severity       how bad that hour's weather was there (see :func:`severity`); null if not recorded
wind_mph       the gust, or the steady wind if no gust was recorded; the severity combines it with
               ``rain_in`` (inches in that hour) and ``visibility_mi`` (miles, at most 10)
=============  =====================================================================================
"""

from pyspark.sql import (
    Column,
    DataFrame,
    SparkSession,
    functions as F,  # noqa: N812 - the name every Spark text uses
)

from tutorials.flights.data import DataFiles

FLIGHTS = """
    year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, sched_arr_time INT,
    arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, air_time INT,
    distance INT, hour INT, minute INT, time_hour STRING
"""
WEATHER = """
    origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir DOUBLE,
    wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour STRING
"""
AIRLINES = "carrier STRING, name STRING"

STRONGEST_WIND_MPH = 231.0  # on record for a surface station outside a cyclone; one row of 2013 claims 1,048
HOUR = ["origin", "year", "month", "day", "hour"]


def flights(session: SparkSession, files: DataFiles) -> DataFrame:
    """Plan one row per flight, with its airline's name and the weather of the hour it was due to leave in."""
    airlines = read(session, files.airlines, AIRLINES)
    return (
        read(session, files.flights, FLIGHTS)
        .join(F.broadcast(hourly_weather(session, files)), HOUR, "left")
        .join(F.broadcast(airlines), "carrier", "left")
        .select(
            F.make_date("year", "month", "day").alias("day"),
            "carrier",
            F.coalesce("name", "carrier").alias("airline"),
            F.isnull("dep_time").alias("cancelled"),
            "arr_delay",
            "origin",
            "hour",
            "severity",
            "wind_mph",
            "rain_in",
            "visibility_mi",
        )
    )


def first_days(flights: DataFrame, days: int) -> DataFrame:
    """Plan the rows of the first days only: the others are dropped before Spark sorts."""
    wanted = flights.select("day").distinct().orderBy("day").limit(days)
    return flights.join(F.broadcast(wanted), "day", "left_semi")


def hourly_weather(session: SparkSession, files: DataFiles) -> DataFrame:
    """Plan one row per airport and hour.

    The hour that the clocks repeat in November is in the data twice. The worse one is kept; otherwise a flight of that
    hour would be joined and counted twice.
    """
    speed, gust = (_believable(F.col(name)) for name in ("wind_speed", "wind_gust"))
    measured = read(session, files.weather, WEATHER).select(
        *HOUR,
        F.coalesce(gust, speed).alias("wind_mph"),
        F.col("precip").alias("rain_in"),
        F.col("visib").alias("visibility_mi"),
    )
    weather = measured.withColumn("severity", severity("wind_mph", "rain_in", "visibility_mi"))
    values = F.struct("severity", "wind_mph", "rain_in", "visibility_mi")
    return weather.groupBy(*HOUR).agg(F.max_by(values, "severity").alias("worst")).select(*HOUR, "worst.*")


def severity(wind_mph: str, rain_in: str, visibility_mi: str) -> Column:
    """Compute how bad an hour's weather is for flying: 0 is calm and clear, and there is no upper limit.

    It is a sum of three parts, each of which is 1 where the weather service would issue a warning: a gust of 46 mph
    (wind advisory), 0.30 inches of rain in the hour (heavy rain), visibility down from 10 to 3 miles (instrument
    flight). Missing measurements add nothing.
    """
    wind = F.col(wind_mph) / 46
    rain = F.col(rain_in) / 0.30
    murk = (10 - F.col(visibility_mi)) / 7
    parts = [F.coalesce(part, F.lit(0.0)) for part in (wind, rain, murk)]
    return parts[0] + parts[1] + parts[2]


def read(session: SparkSession, path: str, schema: str) -> DataFrame:
    """Plan the reading of a CSV file. Empty and NA are null; a header or value that violates the schema is an error."""
    return session.read.csv(path, schema=schema, header=True, nullValue="NA", enforceSchema=False, mode="FAILFAST")


def _believable(wind: Column) -> Column:
    return F.when(wind <= STRONGEST_WIND_MPH, wind)
