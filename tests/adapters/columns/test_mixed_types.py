"""Values of several types in a column of plain rows: whether they are refused does not depend on the batches."""

import datetime as dt
import re
from decimal import Decimal
from itertools import combinations

import pytest

import pullstream as ps
from tests.adapters.columns.kit import in_arrow

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from adapters import columns  # noqa: E402 - where polars is installed
from adapters.columns import reducing  # noqa: E402

MOMENT = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
VALUES = {
    "int": 1,
    "large": 2**60 + 1,
    "float": 0.5,
    "decimal": Decimal("1.5"),
    "cents": Decimal("1.25"),
    "bool": True,
    "text": "a",
    "bytes": b"a",
    "date": dt.date(2026, 1, 2),
    "naive": MOMENT.replace(tzinfo=None),
    "aware": MOMENT,
    "duration": dt.timedelta(1),
    "time": dt.time(1),
    "list": [1],
    "floats": [0.5],
    "texts": ["a"],
    "struct": {"a": 1},
}
TOGETHER = {
    frozenset(pair)
    for pair in [("int", "float"), ("list", "floats"), *combinations(["int", "large", "decimal", "cents"], 2)]
}


def outcome(program, limit):
    """The rows before a failure, and its message without the type so far, which one value alone does not have."""
    got = []
    try:
        ps.run(ps.pipe(program, ps.drain(got.append)), limit=limit)
    except ps.PullstreamError as exc:
        return got, re.search(r"column 'c'.*(cannot hold .*, value \d)", str(exc))[1]
    return got, None


@pytest.mark.parametrize("one", VALUES)
def test_whether_types_can_be_mixed_does_not_depend_on_batches(one):
    """Integers may stand beside floats or decimals; the message names the column and the value."""
    # A whole number that equals no float is refused beside one only in the same batch.
    for other in VALUES.keys() - {one} - ({"large", "float"} if one in {"large", "float"} else set()):
        rows = [{"c": VALUES[one]}, {"c": None}, {"c": VALUES[other]}]
        made = [outcome(ps.pipe(ps.values(rows), columns.select("c")), limit) for limit in (1, 2, 4096)]
        assert made[0] == made[1] == made[2]
        got, failure = made[0]
        assert (failure is None) == ({one, other} in TOGETHER)
        assert len(got) == (3 if failure is None else 2)
        assert failure is None or failure.endswith("value 3")


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize("turned", [1, -1])
@pytest.mark.parametrize("together", [1, reducing.TOGETHER])
def test_whole_numbers_and_decimals_are_aggregated(limit, turned, together, monkeypatch):
    """As decimals, also in lists and structs, however the rows are batched and partial results are merged."""
    monkeypatch.setattr(reducing, "TOGETHER", together)
    values = [2**60 + 1, Decimal("1.5"), 3, Decimal("0.25")][::turned]
    of = columns.sum("c"), columns.min("c"), columns.last("c"), columns.count_unique("c")
    named = dict(zip(("sum", "min", "last", "n"), of, strict=True))
    rows = ps.values([{"k": value, "c": value} for value in values * 2])
    small = [1, Decimal("1.5"), 3][::turned]
    nested = [{"k": number, "list": [value], "struct": {"a": value}} for number, value in enumerate(small)]

    found = ps.run(ps.pipe(rows, columns.reduce_by_time(**named), ps.collect()), limit=limit)
    keys = ps.run(ps.pipe(rows, columns.distinct("k"), ps.collect()), limit=limit)

    assert found == [{"sum": 2 * sum(values), "min": Decimal("0.25"), "last": values[-1], "n": 4}]
    assert [row["k"] for row in keys] == values
    assert ps.run(ps.pipe(ps.values(nested), columns.distinct("k"), ps.collect()), limit=limit) == nested


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (columns.collect_table(), "the column 'c'"),
        (columns.reduce_by_key("c", n=columns.count()), "the column 'c'"),
        (columns.reduce_by_time(least=columns.min("c")), "the column 'c'"),
        (columns.tumbling(2, at="at", lateness=0, least=columns.min("c")), r"least=min\(col\(\"c\"\)\)"),
        (columns.sessions(2, "c", at="at", lateness=0, n=columns.count()), "the key 'c'"),
    ],
)
def test_columns_of_files_without_a_common_type_are_named(module, name):
    parts = [pa.record_batch({"at": at, "c": values}) for at, values in (([0, 2], [1, 2]), ([9, 11], ["a", "b"]))]
    program = ps.pipe(in_arrow(*parts), module)
    with pytest.raises(columns.ColumnError, match=rf"{name} has values without a common type \(int64 and string\)"):
        ps.run(program if isinstance(program, ps.Pipeline) else ps.pipe(program, ps.drain()))


def test_lists_of_nothing_but_nulls_are_joined(monkeypatch):
    """Partial results whose types differ are joined without a cast of those that need none, which Arrow may break."""
    monkeypatch.setattr(reducing, "TOGETHER", 1)
    rows = [{"k": number, "c": value} for number, value in enumerate([None, None, [None, None], [], None])]

    found = ps.run(ps.pipe(ps.values([*rows, *rows]), columns.distinct("k"), ps.collect()), limit=1)

    assert found == rows
