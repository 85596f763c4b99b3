"""The main job: a year of flights from Spark, folded by airline and day, a file for each day."""

import json
from collections.abc import Iterator
from functools import reduce
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import pullstream as ps
from pullstream import spark
from tests.benchmarks.whole.program import BY_HAND, HERE, Program, Way
from tutorials.flights import data, query
from tutorials.flights.pipeline import daily_delays, day_by_day
from tutorials.flights.summary import AirlineDay, Flight, airline_day, day_table


def sorted_rows(planned: Any) -> Iterator[Flight]:
    """Read all rows at once, sorted by day: memory holds the whole year."""
    table = planned.orderBy("day").toArrow()
    return map(Flight._make, zip(*(column.to_pylist() for column in table.columns), strict=True))


def lines_by_hand(planned: Any) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """Fold the rows as the pipeline does, in plain loops."""
    airline, table = airline_day(), day_table()
    for day, flights in groupby(sorted_rows(planned), key=attrgetter("day")):
        tallies: dict[str, Any] = {}
        for flight in flights:
            tally = tallies.get(flight.carrier)
            tallies[flight.carrier] = airline.step(airline.initial() if tally is None else tally, flight)
        pairs = [(carrier, airline.finish(tally)) for carrier, tally in tallies.items()]
        none: list[AirlineDay] = table.initial()
        yield str(day), table.finish(reduce(table.step, pairs, none))


def main_job(days: int) -> dict[str, Way]:
    """Plan the job in a session that is warm after the first round."""
    flights = query.flights(spark.session("flights"), data.installed())
    if days < 365:
        flights = query.first_days(flights, days)

    def planned() -> Any:
        return flights.select("*")  # a new query for each run: the same one would reuse what its last run has shuffled

    def here(folder: Path) -> int:
        return len(ps.run(daily_delays(day_by_day(planned()), folder)))

    def reading(_: Path) -> int:
        return ps.run(
            ps.pipe(day_by_day(planned()), ps.map_batches(lambda rows: [len(rows)]), ps.reduce(int.__add__, 0))
        )

    def by_hand(folder: Path) -> int:
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
