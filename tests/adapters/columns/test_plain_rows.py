"""Plain rows become columns if all have the same; others are an error at their row, wherever batches end."""

import datetime as dt
import re
from decimal import Decimal
from itertools import combinations

import pytest

import pullstream as ps
from adapters.arrow.inferring import Columns
from adapters.arrow.row_types import row_type
from tests.adapters.columns.kit import columns, in_arrow, pa, pl


@pytest.mark.parametrize(
    ("rows", "why", "alone"),
    [
        ([{"a": 1}, (1,)], "do not have the same columns", "needs rows with named columns"),
        ([1, 2], "needs rows with named columns, but got 1", "needs rows with named columns, but got 1"),
        (
            [pa.record_batch({"a": [1]})] * 2,
            "got record batches; read tables with as_='rows'",
            "got record batches; read",
        ),
        ([{"a": 1}, {"a": "x"}], "column 'a'", "the column 'a' is int64, and cannot hold 'x' \\(str\\), value 2: "),
    ],
)
@pytest.mark.parametrize("limit", [1, 4096])
def test_plain_rows_must_share_one_schema(rows, why, alone, limit):
    with pytest.raises(ps.PullstreamError, match=why if limit > 1 else alone):
        ps.run(ps.pipe(ps.values(rows), columns.reduce_by_time(n=columns.count("a")), ps.drain()), limit=limit)


@pytest.mark.parametrize("limit", [1, 4096])
def test_named_tuples_of_several_types(limit):
    """For example from files whose columns are in other orders; values are matched by name."""
    one, other = map(row_type, [("a", "b"), ("b", "a")])
    rows = ps.values([one(1, 2), other(5, 1), one(3, 4)])

    found = ps.run(ps.pipe(rows, columns.reduce_by_key("a", b=columns.sum("b")), ps.collect()), limit=limit)

    assert found == [(1, 7), (3, 4)]


ONE = ps.values([{"a": n, "l": n} for n in range(9)], time=lambda row: row["a"])


@pytest.mark.parametrize("limit", [1, 2, 4096])
@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda rows: ps.pipe(rows, columns.select("a")), 3),
        (lambda rows: ps.pipe(rows, columns.filter(pl.col("a") >= 0)), 3),
        (lambda rows: ps.pipe(rows, columns.reduce_by_key("a", n=columns.count())), 3),
        (lambda rows: ps.pipe(rows, columns.sort_by_time("a")), 3),
        (lambda rows: columns.join(rows, ONE, on="a"), 3),
        (lambda rows: columns.join(ONE, rows, on="a", how="left"), 3),
        (lambda rows: ps.pipe(rows, ps.map_time(lambda _: 0), columns.stamp("a")), 3),
        (
            lambda rows: ps.pipe(
                rows, ps.map_time(lambda _: 0), columns.tumbling(1, at="a", lateness=0, n=columns.count())
            ),
            2,
        ),
    ],
)
def test_rows_before_other_columns(make, found, limit):
    got = []
    rows = ps.values([{"a": 0}, {"a": 1}, {"a": 2}, {"b": 3}], time=lambda row: row.get("a", 3))

    with pytest.raises(columns.ColumnError, match=r"do not have the same columns|no column 'a', a new column 'b'"):
        ps.run(ps.pipe(make(rows), ps.drain(got.append)), limit=limit)

    assert len(got) == found


@pytest.mark.parametrize("module", [columns.distinct("a"), columns.sort_by_time("a")])
def test_rows_at_many_times_become_columns_together(module, monkeypatch):
    sizes = []
    batches = Columns.batches
    monkeypatch.setattr(Columns, "batches", lambda self, values: sizes.append(len(values)) or batches(self, values))
    rows = [{"a": n} for n in range(1000)]

    found = ps.run(ps.pipe(ps.values(rows, time=lambda row: row["a"]), module, ps.collect()))

    assert found == rows
    assert max(sizes) > 1


@pytest.mark.parametrize("name", ["__time__", "__window__", "__row__", "__first__", "__stop__", "__0__sum"])
def test_reserved_column_names_are_refused(name):
    """They would hide a column of the rows, or be taken for one."""
    rows = ps.values([{name: 1, "n": 2}])

    with pytest.raises(columns.ColumnError, match=f"reduce_by_key, composed .*the column '{name}' has a name that"):
        ps.run(ps.pipe(rows, columns.reduce_by_key(name, n=columns.count()), ps.collect()))


@pytest.mark.parametrize("limit", [1, 2, 4096])
def test_an_all_null_batch_keeps_the_type(limit):
    """Plain rows are converted batch by batch, and an expression gives the same result wherever they are cut."""
    rows = [{"s": text} for text in ("xa", None, None, "b", None, "xc")]
    program = ps.pipe(ps.values(rows), columns.filter(pl.col("s").str.starts_with("x")), ps.collect())

    assert ps.run(program, limit=limit) == [{"s": "xa"}, {"s": "xc"}]


def test_a_column_whose_type_is_unknown():
    rows = ps.values([{"s": None}, {"s": "x"}])
    texts = pl.col("s").cast(pl.String).str.starts_with("x")

    with pytest.raises(columns.ColumnError, match=r"type is not known: .* pl.col\('s'\).cast\(pl.String\)"):
        ps.run(ps.pipe(rows, columns.filter(pl.col("s").str.starts_with("x")), ps.collect()), limit=1)

    assert ps.run(ps.pipe(rows, columns.filter(texts), ps.collect()), limit=1) == [{"s": "x"}]


@pytest.mark.parametrize("limit", [1, 2, 4096])
def test_integers_after_a_float_become_floats(limit):
    """Whatever the batches; numbers that no float equals are refused, with a message in plain words."""
    made = columns.select("c")

    found = ps.run(ps.pipe(ps.values([{"c": 0.5}, {"c": 1}, {"c": 2}]), made, ps.collect()), limit=limit)
    assert [repr(row["c"]) for row in found] == ["0.5", "1.0", "2.0"]

    with pytest.raises(ps.PullstreamError, match=rf"column 'c' .*cannot hold {2**60 + 1} \(int\), value 2"):
        ps.run(ps.pipe(ps.values([{"c": 0.5}, {"c": 2**60 + 1}]), made, ps.drain()), limit=limit)


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
    "naive": MOMENT.replace(hour=0, tzinfo=None),
    "aware": MOMENT,
    "eastern": MOMENT.astimezone(dt.timezone(dt.timedelta(hours=2))),
    "duration": dt.timedelta(1),
    "time": dt.time(1),
    "list": [1],
    "floats": [0.5],
    "texts": ["a"],
    "struct": {"a": 1},
    "moments": [{"a": MOMENT}],
    "eastern moments": [{"a": MOMENT.astimezone(dt.timezone(dt.timedelta(hours=2)))}],
}
TOGETHER = set(
    map(
        frozenset,
        [
            ("int", "float"),
            ("list", "floats"),
            ("aware", "eastern"),
            ("moments", "eastern moments"),
            *combinations(["int", "large", "decimal", "cents"], 2),
        ],
    )
)


def outcome(program, limit):
    """The rows before a failure, and its message without the type so far, which a single value does not have."""
    got = []
    try:
        ps.run(ps.pipe(program, ps.drain(got.append)), limit=limit)
    except ps.PullstreamError as exc:
        return got, re.search(r"column 'c'.*(cannot hold .*, value \d)", str(exc))[1]
    return got, None


@pytest.mark.sampled(9)
@pytest.mark.parametrize("one", VALUES)
def test_mixing_types_does_not_depend_on_batches(one):
    """Integers may be mixed with floats or decimals; the message names the column and the value."""
    # A whole number that equals no float is refused beside a float only in the same batch.
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
@pytest.mark.parametrize("together", [1, columns.reducing.TOGETHER])
def test_whole_numbers_and_decimals_are_aggregated(limit, turned, together, monkeypatch):
    """As decimals, also in lists and structs, however the rows are batched and partial results are merged."""
    monkeypatch.setattr(columns.reducing, "TOGETHER", together)
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


def test_lists_of_only_nulls_are_joined(monkeypatch):
    """Partial results of different types are joined without unnecessary casts, which Arrow may get wrong."""
    monkeypatch.setattr(columns.reducing, "TOGETHER", 1)
    rows = [{"k": number, "c": value} for number, value in enumerate([None, None, [None, None], [], None])]

    found = ps.run(ps.pipe(ps.values([*rows, *rows]), columns.distinct("k"), ps.collect()), limit=1)

    assert found == rows
