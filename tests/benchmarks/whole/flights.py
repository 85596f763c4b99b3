"""The main job in rows and in columns: a year of flights from Spark, folded by airline and day; a file per day."""

import json
import os
from functools import reduce
from itertools import groupby
from operator import attrgetter

import polars as pl

import pullstream as ps
from pullstream import spark
from tests.benchmarks.whole.program import BY_HAND, HERE, Program
from tutorials.flights import data, in_columns, query
from tutorials.flights.pipeline import daily_delays, day_by_day
from tutorials.flights.summary import Flight, airline_day, day_table


def sorted_rows(planned):
    """Read all rows at once, sorted by day, into memory."""
    table = planned.orderBy("day").toArrow()
    return map(Flight._make, zip(*(column.to_pylist() for column in table.columns), strict=True))


def lines_by_hand(planned):
    """Fold the rows as the pipeline does, in plain loops."""
    airline, table = airline_day(), day_table()
    for day, flights in groupby(sorted_rows(planned), key=attrgetter("day")):
        tallies = {}
        for flight in flights:
            tally = tallies.get(flight.carrier)
            tallies[flight.carrier] = airline.step(airline.initial() if tally is None else tally, flight)
        pairs = [(carrier, airline.finish(tally)) for carrier, tally in tallies.items()]
        none = table.initial()
        yield str(day), table.finish(reduce(table.step, pairs, none))


def plans(days):
    """Plan the query in a session that is warm after the first round."""
    flights = query.flights(spark.session("flights"), data.installed())
    if days < 365:
        flights = query.first_days(flights, days)
    # A new query for each run, because the same query would reuse its shuffled data.
    return lambda: flights.select("*")


def main_job(days):
    planned = plans(days)

    def here(folder):
        return len(ps.run(daily_delays(day_by_day(planned()), folder)))

    def reading(_):
        return ps.run(
            ps.pipe(day_by_day(planned()), ps.map_batches(lambda rows: [len(rows)]), ps.reduce(int.__add__, 0))
        )

    def by_hand(folder):
        days = 0
        for days, (day, lines) in enumerate(lines_by_hand(planned()), 1):  # noqa: B007 - the count is the answer
            text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
            (folder / f"{day}.jsonl").write_text(text, encoding="utf-8")
        return days

    return {
        HERE: here,
        "reading alone": reading,
        "reading by toArrow() alone": lambda _: sum(1 for _ in sorted_rows(planned())),
        BY_HAND: by_hand,
    }


MAIN = Program(
    "main",
    "days of flights in a warm session; by hand: orderBy().toArrow(), all rows in memory, files not atomic",
    full=365,
    quick=20,
    prepare=main_job,
    parts=("reading alone", "reading by toArrow() alone"),
)


def in_columns_by_hand(planned, folder):
    days = pl.from_arrow(planned.orderBy("day").toArrow()).partition_by("day", maintain_order=True)
    for flights in days:
        lines = in_columns.day_table(flights.lazy()).collect().to_dicts()
        text = "".join(f"{json.dumps(line, ensure_ascii=False, default=str)}\n" for line in lines)
        unfinished = folder / "unfinished"
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.rename(folder / f"{lines[0]['day']}.jsonl")
    return len(days)


def main_job_in_columns(days):
    planned = plans(days)
    return {
        HERE: lambda folder: len(ps.run(in_columns.daily_delays_in_columns(day_by_day(planned()), folder))),
        "reading alone": lambda _: ps.run(ps.pipe(day_by_day(planned()), ps.drain())),
        "reading by toArrow() alone": lambda _: planned().orderBy("day").toArrow().num_rows,
        BY_HAND: lambda folder: in_columns_by_hand(planned(), folder),
    }


MAIN_IN_COLUMNS = Program(
    "main-columns",
    "the same in columns; by hand: toArrow(), a polars query and an atomic, synced file for each day",
    full=365,
    quick=20,
    prepare=main_job_in_columns,
    parts=MAIN.parts,
)
