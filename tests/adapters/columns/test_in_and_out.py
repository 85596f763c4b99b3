"""Rows stay in Arrow from files to files, with any column module between; errors name module and column."""

import datetime as dt
from decimal import Decimal

import pytest

import pullstream as ps
from adapters import files
from adapters.arrow import arrow_rows
from tests.adapters.columns.kit import columns, pa, pl

pq = pytest.importorskip("pyarrow.parquet")


TABLE = pa.table(
    {
        "day": pa.array([1, 1, 2, 2, 2], pa.int32()),
        "key": pa.array(["a", "b", "a", None, "b"]).dictionary_encode(),
        "n": [1, None, 3, 4, 5],
        "price": pa.array([Decimal("1.50"), None, Decimal("2.25"), Decimal(0), Decimal("9.99")], pa.decimal128(9, 2)),
        "at": pa.array(
            [dt.datetime(2026, 1, day, tzinfo=dt.UTC) for day in range(1, 6)], pa.timestamp("us", "Europe/Paris")
        ),
        "parts": pa.array([[{"a": 1}], [], None, [{"a": None}], [{"a": 2}]]),
        "pair": pa.array([[1, 2], None, [3, 4], [None, 5], [6, 7]], pa.list_(pa.int32(), 2)),
    }
)

WIDE = pl.col("n").cast(pl.Int128)


@pytest.fixture
def given(tmp_path):
    pq.write_table(TABLE, tmp_path / "given.parquet", row_group_size=2)
    return tmp_path / "given.parquet"


@pytest.mark.parametrize("limit", [1, 3, 4096])
def test_from_a_file_to_files_and_a_table_without_rows(given, tmp_path, limit, no_rows):
    read = files.read_parquet(given, time="day")
    plain = TABLE.set_column(1, "key", TABLE.column("key").cast(pa.string()))

    ps.run(ps.pipe(read, ps.skip(1), files.write_parquet(f"{tmp_path}/out/{{time}}.parquet")), limit=limit)
    ps.run(ps.pipe(read, files.write_arrow(f"{tmp_path}/out/{{time}}.arrow")), limit=limit)
    flat = ps.pipe(read, columns.select("day", "n", "at"), columns.filter(pl.col("n") > 1))
    ps.run(ps.pipe(flat, files.write_csv(f"{tmp_path}/out/{{time}}.csv")), limit=limit)

    known = ps.pipe(read, columns.filter(pl.col("key").is_not_null(), pl.col("pair").is_not_null()))
    ps.run(ps.pipe(known, files.write_parquet(f"{tmp_path}/{{time}}/{{key}}.parquet", key="key")), limit=limit)
    counts = ps.pipe(columns.stamp("day", lateness=1), columns.reduce_by_time(n=columns.count()))
    days = ps.run(ps.pipe(files.read_parquet(given), counts, columns.collect_table()), limit=limit)
    table = ps.run(ps.pipe(files.read_parquet(given), columns.collect_table()), limit=limit)

    assert pq.read_table(tmp_path / "out/1.parquet").equals(plain.slice(1, 1))
    assert pq.read_table(tmp_path / "out/2.parquet").equals(plain.slice(2))
    assert pa.ipc.open_file(tmp_path / "out/2.arrow").read_all().equals(plain.slice(2))
    assert (tmp_path / "out/2.csv").read_text().splitlines()[:2] == [
        '"day","n","at"',
        "2,3,2026-01-03 01:00:00.000000+0100",
    ]
    assert pq.ParquetFile(tmp_path / "2/b.parquet").read().column("n").to_pylist() == [5]
    assert days["n"].to_list() == [2, 3]
    assert table.equals(pl.from_arrow(pq.read_table(given)))
    assert "<table" in table._repr_html_()
    assert ps.run(ps.pipe(files.read_parquet(given), ps.take(0), columns.collect_table())).shape == (0, 0)


@pytest.mark.parametrize("schema", [{"at": "int64"}, {"at": pa.timestamp("us", "UTC")}])
@pytest.mark.parametrize("rows", [False, True])
def test_a_schema_gives_the_same_file_from_columns_and_rows(given, tmp_path, schema, rows):
    """A timestamp in a column and its microseconds in a row are the same value."""
    made = ps.pipe(files.read_parquet(given), columns.select("at"), *([ps.map(lambda row: row)] if rows else []))

    (path,) = ps.run(ps.pipe(made, files.write_parquet(f"{tmp_path}/{{time}}.parquet", schema=schema)))

    expected = TABLE.column("at").cast(pa.timestamp("us", "UTC"))
    assert pq.read_table(path).column("at").cast(pa.timestamp("us", "UTC")).equals(expected)


@pytest.mark.parametrize("limit", [1, 2, 4096])
def test_errors_name_the_row_in_its_file(tmp_path, limit):
    for name, values in (("a", [1, 2, 3, 4, 5]), ("b", [6, 7, None, 8])):
        pq.write_table(pa.table({"t": values}), tmp_path / f"{name}.parquet", row_group_size=2)
    rows = files.read_parquet(str(tmp_path))
    windows = columns.tumbling(10, at="t", lateness=9, n=columns.count())
    small = ps.pipe(columns.with_columns(u=pl.col("t")), columns.select(n=(50 * pl.col("t")).cast(pl.Int8)))

    with pytest.raises(columns.ColumnError, match=r"null in row 8, .* in row 3 of .*b\.parquet"):
        ps.run(ps.pipe(rows, ps.prefetch(3), windows, ps.drain()), limit=limit)
    with pytest.raises(columns.ColumnError, match=r"for row 2, .* in row 3 of .*a\.parquet"):
        ps.run(ps.pipe(rows, ps.skip(1), small, ps.drain()), limit=limit)
    below = ps.pipe(columns.filter(pl.col("t") != 2), columns.filter(pl.col("t") != 1), small)
    with pytest.raises(columns.ColumnError, match=r"for row 1, .* in row 3 of .*a\.parquet"):
        ps.run(ps.pipe(rows, below, ps.drain()), limit=limit)
    with pytest.raises(columns.ColumnError, match=r"null in row 4, .* in row 3 of .*b\.parquet"):
        ps.run(ps.pipe(rows, columns.filter((pl.col("t") > 4).fill_null(True)), windows, ps.drain()), limit=limit)


def test_a_column_without_a_name_stays_without(tmp_path):
    """The index that pandas writes to a CSV file."""
    (tmp_path / "given.csv").write_text('"","a","column_0"\n0,5,7\n1,4,8\n')
    changed = ps.pipe(columns.sort_by_time("a"), columns.with_columns(pl.col("") + 1), columns.select("*"))
    read, write = files.read_csv(tmp_path / "given.csv"), files.write_csv(tmp_path / "{time}.csv")
    (path,) = ps.run(ps.pipe(read, changed, write))
    assert path.read_text() == '"","a","column_0"\n2,4,8\n1,5,7\n'


def test_a_schema_that_changes_between_sources_names_the_file(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({name: [1]}), tmp_path / f"{name}.parquet")
    both = ps.concat(*(files.read_parquet(tmp_path / f"{name}.parquet") for name in "ab"))

    with pytest.raises(columns.ColumnError, match=r"a batch in .*b\.parquet has no column 'a', a new column 'b'"):
        ps.run(ps.pipe(both, columns.collect_table()))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (
            lambda: columns.select("nn"),
            r"select, composed .*: there is no column 'nn' in .*given.parquet; the columns are 'day', 'key', 'n'",
        ),
        (lambda: columns.filter(pl.col("nn") > 1), r"filter, composed .*: there is no column 'nn'"),
        (lambda: columns.filter("n"), r"the predicate .* gives Int64, not true or false: compare it, as in pl.col"),
        (lambda: columns.reduce_by_key("nn", n=columns.count()), r"reduce_by_key, .*: there is no column 'nn'"),
        (lambda: columns.reduce_by_key("key", s=columns.sum("nn")), r"there is no column 'nn'"),
        (
            lambda: columns.reduce_by_key("n", s=columns.sum("key")),
            r"s=sum\(.*\): sum\(\) needs numbers, but its column is",
        ),
        (
            lambda: columns.reduce_by_time(s=columns.any("n")),
            r"needs a boolean column, but its column is int64",
        ),
        (
            lambda: columns.reduce_by_time(s=columns.sum(pl.col("n") + 2**62)),
            r": s=sum\(.*: a sum does not fit into 64 bits;",
        ),
        (
            lambda: columns.reduce_by_key("day", s=columns.sum(pl.col("n") + 2**62)),
            r"a sum does not fit into 64 bits, for day=2; for 38 digits, sum .cast\(pl.Decimal\(38, 0\)\)",
        ),
        (lambda: columns.sort_by_time("nn"), r"sort_by_time, composed .*nn"),
        (lambda: columns.select(WIDE), r"select, .*'n' is Int128, which Arrow does not have"),
        (
            lambda: columns.per_time(lambda rows: rows.select(WIDE)),
            r"per_time, .*is Int128, which Arrow does not",
        ),
        (
            lambda: columns.reduce_by_time(s=columns.sum(WIDE)),
            r"reduce_by_time, .*'s' is Int128",
        ),
        (lambda: columns.per_time(lambda rows: 3), r"the query returned 3 \(int\); return a LazyFrame or a DataFrame"),
        (lambda: columns.per_time(lambda rows: rows.select("nn")), r"per_time, composed .*nn.*at the time 0"),
    ],
)
def test_errors_name_module_and_column(given, make, why):
    with pytest.raises(columns.ColumnError, match=why) as caught:
        ps.run(ps.pipe(files.read_parquet(given), make(), ps.drain()))

    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_literals_and_selections():
    rows = ps.values([{"a": 1, "b": 2}, {"a": 3, "b": 4}])

    assert ps.run(ps.pipe(rows, columns.select(one=pl.lit(1)), ps.collect())) == [{"one": 1}, {"one": 1}]
    assert ps.run(ps.pipe(rows, columns.select(pl.exclude("a")), ps.collect())) == [{"b": 2}, {"b": 4}]
    made = columns.select(pl.lit(1).cast(pl.Int8).alias("one"), late=pl.col("b") > pl.lit("3").str.to_integer())
    assert ps.run(ps.pipe(rows, made, ps.collect())) == [{"one": 1, "late": False}, {"one": 1, "late": True}]


@pytest.mark.parametrize("limit", [1, 3, 4096])
def test_text_is_grouped_by_its_codes(tmp_path, limit, monkeypatch):
    """Aggregates use a row group's dictionary as it is; results, rows and batches are plain text."""
    texts = [*"abacb", None, *"ca"] * 64
    table = pa.table({"day": [n // 100 for n in range(512)], "key": texts, "n": range(512)})
    pq.write_table(table.slice(0, 300), tmp_path / "a.parquet", row_group_size=70)
    pq.write_table(table.slice(300), tmp_path / "b.parquet", row_group_size=70, use_dictionary=False)
    read = {"time": "day", "columns": ["key", "day", "n"]}
    plain = []
    given = arrow_rows.plain
    monkeypatch.setattr(arrow_rows, "plain", lambda *args: plain.append(args) or given(*args))

    sums = columns.reduce_by_key("key", n=columns.sum("n"), last=columns.last("key"))
    found = ps.run(
        ps.pipe(files.read_parquet(tmp_path / "a.parquet", **read), sums, columns.collect_table()), limit=limit
    )

    expected = pl.from_arrow(table.slice(0, 300)).group_by("day", "key", maintain_order=True)
    expected = expected.agg(pl.col("n").sum(), last=pl.col("key").last())
    assert found.equals(expected.select("key", "n", "last"))
    assert plain == []

    both = files.read_parquet(str(tmp_path), **read)
    assert ps.run(ps.pipe(both, columns.collect_table()), limit=limit).equals(
        pl.from_arrow(table.select(["key", "day", "n"]))
    )
    assert plain != [], "the columns of the first file were dictionaries until then"
    upper = columns.reduce_by_time(n=columns.count_unique(pl.col("key").str.to_uppercase()))
    assert [row.n for row in ps.run(ps.pipe(both, upper, ps.collect()), limit=limit)] == [3] * 6
    assert [row.key for row in ps.run(ps.pipe(both, ps.collect()), limit=limit)] == texts
    batches = ps.run(ps.pipe(files.read_parquet(str(tmp_path), as_="batches"), ps.collect()), limit=limit)
    assert pa.Table.from_batches(batches).equals(table)


def test_times_may_be_text(tmp_path):
    texts = sorted("aabbc" * 40)
    pq.write_table(pa.table({"t": texts}), tmp_path / "t.parquet", row_group_size=30)

    found = ps.run(ps.pipe(files.read_parquet(tmp_path / "t.parquet", time="t"), ps.collect(timed=True)))

    assert found == [(text, (text,)) for text in texts]


def test_enums_of_several_times_are_categories_of_text():
    """Later values stay, though the first enum lacks their category; they sort as text, whatever module is upstream."""
    rows = ps.values([{"t": t, "s": s} for t, s in [(1, "b"), (1, "a"), (2, "z"), (2, "b")]], time=lambda row: row["t"])

    def as_enum(frame):
        (kind,) = frame.select(pl.col("s").unique(maintain_order=True).implode()).collect()["s"].to_list()
        made = frame.with_columns(pl.col("s").cast(pl.Enum(kind)))
        return made.with_columns(deep=pl.concat_list(pl.struct(s=pl.concat_arr("s"))))

    made = ps.pipe(rows, columns.per_time(as_enum))
    later = ps.pipe(made, ps.map_time(lambda _: 3), columns.sort_by_time("s"))

    table = ps.run(ps.pipe(made, columns.collect_table()))
    assert table["s"].to_list() == ["b", "a", "z", "b"]
    assert table["deep"].to_list() == [[{"s": [text]}] for text in table["s"]]
    assert ps.run(ps.pipe(later, columns.collect_table()))["s"].to_list() == ["a", "b", "b", "z"]
