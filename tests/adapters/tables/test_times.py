"""Times as text and as values of a column: the same in every process, unchanged, or refused."""

import datetime as dt
import os
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

import pullstream as ps
from adapters.tables.entries import encoded
from pullstream import tables
from pullstream.timely import Lexicographic, Product
from tests.adapters.tables.helpers import write
from tests.programs import printed

numpy = pytest.importorskip("numpy")
pyarrow = pytest.importorskip("pyarrow")

HALF = (0.5, Decimal("0.50"), Fraction(1, 2), numpy.float64(0.5), numpy.float32(0.5))


class Pair(NamedTuple):
    """Equal to a plain tuple."""

    a: Any
    b: Any


@pytest.mark.parametrize(
    "equal",
    [
        HALF,
        (3, 3.0, Decimal(3), Fraction(3), numpy.int64(3), numpy.float64(3)),
        (Decimal("0.1"), Decimal("0.10"), Fraction(1, 10)),
        (2**53 + 1, Decimal(2**53 + 1)),
        (Pair(1, 0.5), (1, Fraction(1, 2))),
        tuple(Product(half, 1) for half in HALF),
        (frozenset({1, 2}), frozenset({Decimal(2), 1.0})),
        (float("inf"), Decimal("inf")),
    ],
)
def test_equal_times_have_one_text(equal):
    assert len(set(equal)) == len(set(map(encoded, equal))) == 1


def test_different_times_have_different_texts():
    numbers = [0.1, Decimal("0.1"), 1, Fraction(10**400 + 1, 3), Fraction(10**400 + 2, 3)]
    parts = [(1,), frozenset({1}), Product(1), Lexicographic(1), (1, (2, 3)), ((1, 2), 3), frozenset({frozenset({1})})]
    several = [*numbers, *parts, "1", b"1", None, dt.timedelta(1)]
    assert len(set(map(encoded, several))) == len(several)


def test_the_text_of_a_set_is_the_same_in_every_process():
    command = "from adapters.tables.entries import encoded; print(encoded((1, frozenset('abcdefgh'))))"
    assert len({printed("-c", command, env={**os.environ, "PYTHONHASHSEED": seed}) for seed in "123"}) == 1


@pytest.mark.parametrize("base", ["sqlite"], indirect=True)
@pytest.mark.parametrize("time", [(1, object()), frozenset({1j})])
def test_times_without_a_text_are_refused(base, time):
    write(ps.values([(1,)], time=lambda _: 7), base)
    with pytest.raises(tables.SchemaError, match="no text that is the same in all processes: convert the times"):
        write(ps.values([(1,)], time=lambda _: time), base)
    assert base.query("SELECT count(*) FROM sales") == [(1,)]


@pytest.mark.parametrize(("mode", "day"), [("append", None), ("replace_time", None), ("replace_time", 5)])
def test_rows_of_no_or_another_time_are_refused(base, mode, day):
    source = ps.values([{"day": 1, "n": 1}, {"day": day, "n": 2}], time=lambda _: 1)
    with pytest.raises(tables.SchemaError, match=f"row 2 of the time 1 has {day} in the column 'day': the time of the"):
        write(source, base, mode=mode, time="day")


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("kind", "times"),
    [
        ("date32", [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 12)]),  # noqa: DTZ001 - without a zone
        ("float32", [0.5, 0.1]),
        ("int64", [1, 1.5]),
    ],
)
def test_times_that_a_column_would_change_are_refused(base, kind, times):
    schema = {"day": kind, "n": "int64"}
    if (kind, base.kind) == ("float32", "sqlite"):
        pytest.skip("SQLite stores all floats with 64 bits")
    write(ps.values([(7,)], time=lambda _: times[0]), base, mode="replace_time", time="day", schema=schema)
    with pytest.raises(tables.SchemaError, match="column.* is (date32|float|double|int64|string)"):
        write(ps.values([(8,)], time=lambda _: times[1]), base, mode="replace_time", time="day")
    assert base.query("SELECT n FROM sales") == [(7,)]


def test_datetimes_of_two_zones_keep_their_instants(base):
    winter = dt.datetime(2026, 1, 31, 23, 30, tzinfo=dt.UTC)
    moments = [winter.astimezone(ZoneInfo(zone)) for zone in ("Europe/Berlin", "America/New_York")]
    if base.kind == "sqlite":
        with pytest.raises(tables.SchemaError, match="or give another type"):
            write(ps.values([{"at": moments[0]}]), base)
        return
    for time, moment in enumerate(moments):
        write(ps.values([{"at": moment}], time=lambda _, time=time: time), base)
    assert base.query('SELECT "at" FROM sales') == [(winter,)] * 2
    if base.kind != "duckdb":
        schema = {"at": pyarrow.timestamp("us", "Europe/Berlin")}
        with pytest.raises(tables.SchemaError, match=r"or give timestamp\[us, tz=UTC\], which keeps the instants"):
            write(ps.values([{"at": winter}]), base, "others", schema=schema)
