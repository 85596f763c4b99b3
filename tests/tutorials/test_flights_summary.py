"""The folds of the program in rows equal the query of the program in columns, on random flights."""

import json
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import pullstream as ps
from tutorials.flights.in_columns import daily_delays_in_columns
from tutorials.flights.pipeline import daily_delays
from tutorials.flights.summary import Flight


def flight(day, carrier, delay, *, cancelled, origin, hour, severity):
    return Flight(
        date(2013, 1, day), carrier, f"{carrier} Inc.", cancelled, delay, origin, hour, severity, 10.0, 0.0, 9.0
    )


def written(folder):
    return {
        path.name: [json.loads(line) for line in path.read_text().splitlines()] for path in sorted(folder.iterdir())
    }


FLIGHTS = st.lists(
    st.builds(
        flight,
        day=st.integers(1, 3),
        carrier=st.sampled_from(["UA", "AA", "DL"]),
        delay=st.none() | st.integers(-60, 600),
        cancelled=st.booleans(),
        origin=st.sampled_from(["EWR", "JFK", "LGA"]),
        hour=st.integers(5, 7),
        severity=st.none() | st.sampled_from([0.0, 0.5, 1.5]),
    ),
    min_size=1,
    max_size=30,
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
