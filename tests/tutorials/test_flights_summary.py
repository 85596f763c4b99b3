"""The folds, and the pipeline around them, on a few flights made by hand."""

import json
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

import pullstream as ps
from tutorials.flights.in_columns import daily_delays_in_columns
from tutorials.flights.pipeline import daily_delays
from tutorials.flights.summary import UNRECORDED, Flight, Hour, percentile_90, worse


def flight(day=1, carrier="UA", delay=0, *, cancelled=False, origin="EWR", hour=9, severity=0.5):
    return Flight(
        date(2013, 1, day), carrier, f"{carrier} Inc.", cancelled, delay, origin, hour, severity, 10.0, 0.0, 9.0
    )


def written(folder):
    return {
        path.name: [json.loads(line) for line in path.read_text().splitlines()] for path in sorted(folder.iterdir())
    }


@given(st.lists(st.integers(-100, 2000)))
def test_the_percentile_is_that_of_pandas(delays):
    expected = pd.Series(delays, dtype=float).quantile(0.9) if delays else None

    assert percentile_90(delays) == (None if expected is None else pytest.approx(expected))


def test_the_worst_hour_is_the_most_severe_then_the_earliest():
    calm, late, early = Hour(0.0, "EWR", 3), Hour(2.0, "EWR", 20), Hour(2.0, "LGA", 8)

    assert worse([calm, late, early]) == early
    assert worse([Hour(2.0, "LGA", 8), Hour(2.0, "JFK", 8)]).weather_airport == "JFK"
    assert worse([UNRECORDED, calm]) == calm
    assert worse([UNRECORDED]) == UNRECORDED


def test_a_day_is_a_file_of_airlines_in_order_with_the_day_s_weather(tmp_path):
    flights = [
        flight(1, "UA", 5, severity=0.1),
        flight(1, "AA", 7, origin="JFK", hour=17, severity=2.5),
        flight(2, "B6", None, severity=None),
    ]

    paths = ps.run(daily_delays(ps.values(flights, time=lambda one: one.day), tmp_path))

    assert [path.name for path in paths] == ["2013-01-01.jsonl", "2013-01-02.jsonl"]
    first, second = written(tmp_path).values()
    assert [(line["carrier"], line["weather_airport"], line["weather_hour"]) for line in first] == [
        ("AA", "JFK", 17),
        ("UA", "JFK", 17),
    ]
    (line,) = second
    assert (line["day"], line["arrived"], line["weather_severity"]) == ("2013-01-02", 0, None)
    assert line["mean_arr_delay"] is line["p90_arr_delay"] is None, "no arrival has no delay"


FLIGHTS = st.lists(
    st.builds(
        flight,
        day=st.integers(1, 3),
        carrier=st.sampled_from(["UA", "AA", "DL"]),
        delay=st.none() | st.integers(-60, 600),
        cancelled=st.booleans(),
        origin=st.sampled_from(["EWR", "JFK", "LGA"]),
        hour=st.integers(5, 23),
        severity=st.none() | st.sampled_from([0.0, 0.5, 1.5]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=30, deadline=None)
@given(FLIGHTS)
def test_the_program_in_columns_writes_the_same_lines(flights):
    in_order = sorted(flights, key=lambda one: one.day)
    with TemporaryDirectory() as folder:
        for name, program in (("rows", daily_delays), ("columns", daily_delays_in_columns)):
            ps.run(program(ps.values(in_order, time=lambda one: one.day), Path(folder) / name))
        rows, found = written(Path(folder) / "rows"), written(Path(folder) / "columns")

    assert list(found) == list(rows)
    for name, lines in rows.items():
        assert found[name] == [pytest.approx(line, nan_ok=True) for line in lines]
