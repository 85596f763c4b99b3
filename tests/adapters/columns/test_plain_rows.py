"""Plain rows become columns if all have the same; what one of them does not have is an error at that row."""

import pytest

import pullstream as ps

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from adapters import columns  # noqa: E402 - where polars is installed


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
def test_rows_before_one_with_other_columns(make, found, limit):
    got = []
    rows = ps.values([{"a": 0}, {"a": 1}, {"a": 2}, {"b": 3}], time=lambda row: row.get("a", 3))

    with pytest.raises(columns.ColumnError, match=r"do not have the same columns|no column 'a', a new column 'b'"):
        ps.run(ps.pipe(make(rows), ps.drain(got.append)), limit=limit)

    assert len(got) == found


@pytest.mark.parametrize("name", ["__time__", "__window__", "__row__", "__first__", "__stop__", "__0__sum"])
def test_names_of_columns_that_modules_add_are_refused(name):
    """They would hide a column of the rows, or be taken for one."""
    rows = ps.values([{name: 1, "n": 2}])

    with pytest.raises(columns.ColumnError, match=f"reduce_by_key, composed .*the column '{name}' has a name that"):
        ps.run(ps.pipe(rows, columns.reduce_by_key(name, n=columns.count()), ps.collect()))


def test_a_python_function_in_an_expression():
    rows = ps.values([{"n": n} for n in (1, 2, 0, 4)])

    def inverse_of(n):
        if n == 0:
            raise ValueError("no inverse")
        return 4 // n

    inverse = columns.select(m=pl.col("n").map_elements(inverse_of, return_dtype=pl.Int64))
    found = []

    with pytest.raises(ValueError, match="no inverse") as info:
        ps.run(ps.pipe(rows, inverse, ps.drain(found.append)))

    assert "for row 3, {'n': 0}" in info.value.__notes__
    assert found == [{"m": 4}, {"m": 2}]


@pytest.mark.parametrize("limit", [1, 2, 4096])
def test_a_column_keeps_its_type_where_all_its_values_are_null(limit):
    """Plain rows are converted batch by batch, and an expression gives the same wherever they are cut."""
    rows = [{"s": text} for text in ("xa", None, None, "b", None, "xc")]
    program = ps.pipe(ps.values(rows), columns.filter(pl.col("s").str.starts_with("x")), ps.collect())

    assert ps.run(program, limit=limit) == [{"s": "xa"}, {"s": "xc"}]


def test_a_column_whose_type_is_not_known_yet():
    rows = ps.values([{"s": None}, {"s": "x"}])
    texts = pl.col("s").cast(pl.String).str.starts_with("x")

    with pytest.raises(columns.ColumnError, match=r"type is not known: .* pl.col\('s'\).cast\(pl.String\)"):
        ps.run(ps.pipe(rows, columns.filter(pl.col("s").str.starts_with("x")), ps.collect()), limit=1)

    assert ps.run(ps.pipe(rows, columns.filter(texts), ps.collect()), limit=1) == [{"s": "x"}]


@pytest.mark.parametrize("limit", [1, 2, 4096])
def test_whole_numbers_after_a_float_are_floats(limit):
    """Whatever the batches; those that have no float of the same value are refused, with a message of plain words."""
    made = columns.select("c")

    found = ps.run(ps.pipe(ps.values([{"c": 0.5}, {"c": 1}, {"c": 2}]), made, ps.collect()), limit=limit)
    assert [repr(row["c"]) for row in found] == ["0.5", "1.0", "2.0"]

    with pytest.raises(ps.PullstreamError, match=rf"column 'c' .*cannot hold {2**60 + 1} \(int\), value 2"):
        ps.run(ps.pipe(ps.values([{"c": 0.5}, {"c": 2**60 + 1}]), made, ps.drain()), limit=limit)
