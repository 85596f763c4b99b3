"""The content of files: every format can be read back, and the bytes do not depend on batching."""

import bz2
import datetime as dt
import gzip
import lzma
from decimal import Decimal
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
import zstandard

import pullstream as ps
from adapters import files
from adapters.files.writing import raw, sink
from pullstream.journal.program import fingerprint

from .kit import content, written


class Row(NamedTuple):
    day: int
    key: str | None
    number: int
    value: float | None
    text: str


def row(day, number):
    value = None if number % 7 == 0 else number if number % 3 else number / 2
    return Row(day, "abc"[number % 3], number, value, f"s{number}" * (number % 5))


ROWS = [row(day, number) for day in range(2) for number in range(700)]

WRITERS = {
    "text": lambda out, **opts: ps.pipe(ps.map(repr), files.write_text(f"{out}/{{time}}.txt.gz", **opts)),
    "bytes": lambda out, **opts: ps.pipe(
        ps.map(lambda row: row.text.encode()), files.write_bytes(f"{out}/{{time}}", **opts)
    ),
    "csv": lambda out, **opts: files.write_csv(f"{out}/{{time}}/{{key}}.csv", key="key", **opts),
    "csv.gz": lambda out, **opts: files.write_csv(f"{out}/{{time}}/{{key}}.csv.gz", key="key", **opts),
    "csv grown": lambda out, **opts: files.write_csv(f"{out}/{{key}}.csv", key="key", **opts),
    "jsonl": lambda out, **opts: files.write_jsonl(f"{out}/{{time}}.{{key}}.jsonl", key="key", **opts),
    "jsonl.zst": lambda out, **opts: files.write_jsonl(f"{out}/{{time}}.{{key}}.jsonl.zst", key="key", **opts),
    "jsonl.xz": lambda out, **opts: files.write_jsonl(f"{out}/{{time}}.jsonl.xz", **opts),
    "jsonl.bz2 grown": lambda out, **opts: files.write_jsonl(f"{out}/all.jsonl.bz2", **opts),
    "parquet": lambda out, **opts: files.write_parquet(
        f"{out}/{{time}}/{{key}}.parquet", key="key", row_group=50, **opts
    ),
    "arrow": lambda out, **opts: files.write_arrow(f"{out}/{{time}}/{{key}}.arrow", key="key", batch=30, **opts),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", WRITERS)
def test_bytes_do_not_depend_on_batching(name, tmp_path, monkeypatch):
    def outcome(number, limit, **opts):
        result = written(ROWS, WRITERS[name](tmp_path / str(number), **opts), limit, lambda row: row.day)
        made = content(tmp_path / str(number))
        assert sorted(str(path.relative_to(tmp_path / str(number))) for path in result) == sorted(made)
        return made

    expected = outcome(0, 4096)
    assert outcome(1, 1) == expected
    assert outcome(2, 7, open_files=1) == expected
    for module, constant, value in ((sink, "MEMORY", 2000), (sink, "LOOSE", 5), (raw, "LOOSE", 3)):
        monkeypatch.setattr(module, constant, value)
    assert outcome(3, 100) == expected
    assert outcome(4, 3, open_files=1) == expected


@pytest.mark.parametrize(
    ("suffix", "opened"), [("gz", gzip), ("bz2", bz2), ("xz", lzma), ("zst", zstandard), ("GZ", gzip), ("", None)]
)
def test_the_suffix_sets_the_compression(suffix, opened, tmp_path):
    lines = [f"line {number} " + "x" * 100 for number in range(20_000)]
    (path,) = written(lines, files.write_text(tmp_path / f"{{time}}.txt.{suffix}"))
    with (opened or gzip).open(path, "rb") if opened else path.open("rb") as file:
        assert file.read().decode().splitlines() == lines


TABLE = pa.table(
    {
        "n": pa.array([1, 2, None], pa.int32()),
        "s": ["a", 'b"c', None],
        "when": pa.array([1_577_934_000_000, None, 1_609_459_200_000], pa.timestamp("ms", "UTC")),
        "d": pa.array(["x", "y", "x"]).dictionary_encode(),
        "l": [[1], [], None],
    }
)

EMPTY = pa.table({"n": pa.array([], pa.int8())})

JSON_ROW = '{"day": 1, "key": "Zürich ✈", "number": 1, "value": null, "text": ""}\n'.encode()
JSON_TABLE = b'{"n": 1, "s": "a"}\n{"n": 2, "s": "b\\"c"}\n{"n": null, "s": null}\n'
CSV_ROWS = b'"day","key","number","value","text"\n1,"a",1,2.5,"say ""tea"""\n1,,2,,""\n'


@pytest.mark.parametrize(
    ("write", "values", "options", "found"),
    [
        (files.write_bytes, [b"a", bytearray(b"b")], {}, b"ab"),
        (files.write_text, ["ü", ""], {"end": "|"}, "ü||".encode()),
        (files.write_text, ["a"], {"suffix": ".gz", "compression": None}, b"a\n"),
        (files.write_jsonl, [Row(1, "Zürich ✈", 1, None, "")], {}, JSON_ROW),
        (files.write_jsonl, [{"day": 1, "when": dt.date(2013, 1, 2)}], {}, b'{"day": 1, "when": "2013-01-02"}\n'),
        (files.write_jsonl, [[1, 2.5, "a\nb"]], {}, b'[1, 2.5, "a\\nb"]\n'),
        # JSON can hold half a surrogate pair, so what `read_jsonl` reads can be written again.
        (files.write_jsonl, [{"ü\ud800": "\udfff"}], {}, b'{"\xc3\xbc\\ud800": "\\udfff"}\n'),
        (files.write_jsonl, [TABLE.select(["n", "s"])], {}, JSON_TABLE),
        (files.write_csv, [Row(1, "a", 1, 2.5, 'say "tea"'), Row(1, None, 2, None, "")], {}, CSV_ROWS),
        (files.write_csv, [(1, "a")], {"delimiter": ";", "header": False}, b'1;"a"\n'),
        (files.write_csv, [(-1, None)], {"delimiter": "-", "header": False}, b'"-1"-\n'),
        (files.write_csv, [EMPTY], {}, b'"n"\n'),
    ],
)
def test_the_bytes_of_a_file(write, values, options, found, tmp_path):
    target = f"{tmp_path}/{{time}}{options.pop('suffix', '')}"
    assert written(values, write(target, **options))[0].read_bytes() == found


def test_compression_overrides_the_suffix(tmp_path):
    (path,) = written(["a"], files.write_text(tmp_path / "{time}.txt", compression="gzip"))
    assert gzip.decompress(path.read_bytes()) == b"a\n"


def read(path):
    return {".parquet": pa.parquet.read_table, ".arrow": pa.feather.read_table}[path.suffix](path)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_arrow_batches_keep_their_types(suffix, parts, tmp_path):
    """Types are kept; dictionaries are decoded; the bytes do not depend on how rows are divided into batches."""
    write = {"parquet": files.write_parquet, "arrow": files.write_arrow}[suffix]
    batches = [TABLE.slice(start, parts).combine_chunks().to_batches()[0] for start in range(0, 3, parts)]
    (path,) = written(batches, write(tmp_path / f"{{time}}.{suffix}"))
    plain = TABLE.set_column(3, "d", TABLE["d"].cast(pa.string()))
    assert read(path).equals(plain)
    (whole,) = written([TABLE], write(tmp_path / f"w{{time}}.{suffix}"))
    assert whole.read_bytes() == path.read_bytes()
    (without_rows,) = written([EMPTY], write(tmp_path / f"e{{time}}.{suffix}"))
    assert read(without_rows).schema == EMPTY.schema


def test_files_of_decimals_have_one_type(tmp_path):
    """The type does not depend on the digits in one file; an Arrow column keeps its own type."""
    amounts = [Decimal("0.50"), Decimal("17.25"), Decimal("2300.00")]
    rows = ps.values([{"amount": amount} for amount in amounts], time=lambda row: row["amount"])
    paths = ps.run(ps.pipe(rows, files.write_parquet(tmp_path / "{time}.parquet")))
    read = ps.run(ps.pipe(files.read_parquet(paths, as_="tuples"), ps.collect()))
    assert read == [(amount,) for amount in amounts]
    given = pa.RecordBatch.from_pydict({"amount": pa.array(amounts, pa.decimal128(9, 2))})
    (path,) = ps.run(ps.pipe(ps.values([given]), files.write_parquet(tmp_path / "arrow{time}.parquet")))
    assert pa.parquet.read_schema(path).field("amount").type == pa.decimal128(9, 2)


def test_parquet_of_null_structs(tmp_path):
    """Spark's null structs have nulls in non-nullable fields, which pyarrow refuses to write."""
    part = pa.field("x", pa.int32(), nullable=False)
    struct = pa.StructArray.from_arrays([pa.array([1, None], pa.int32())], fields=[part], mask=pa.array([False, True]))
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2]), struct)
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 2], pa.int32()), ["a", "b"], struct)
    large = pa.LargeListArray.from_arrays(pa.array([0, 2, 2], pa.int64()), struct)
    batch = pa.RecordBatch.from_arrays([struct, lists, maps, large], ["s", "l", "m", "large"])
    (path,) = written([batch], files.write_parquet(tmp_path / "{time}.parquet"))
    assert pa.parquet.read_table(path).to_pylist() == batch.to_pylist()


def test_parquet_row_groups(tmp_path):
    numbers = [{"n": n} for n in range(25)]
    (path,) = written(numbers, files.write_parquet(tmp_path / "{time}.parquet", row_group=10))
    meta = pa.parquet.ParquetFile(path).metadata
    assert [meta.row_group(n).num_rows for n in range(meta.num_row_groups)] == [10, 10, 5]
    assert pa.parquet.read_table(path)["n"].to_pylist() == list(range(25))
    batches = pa.table({"n": range(25)}).to_batches(max_chunksize=4)
    (other,) = written(batches, files.write_parquet(tmp_path / "b{time}.parquet", row_group=10))
    assert other.read_bytes() == path.read_bytes()


def test_columns_are_inferred(tmp_path):
    values = [{"a": None}, {"a": 1, "b": "x"}, {"a": 2.5, "b": None}, {"c": [1]}]
    for limit in (1, 2, 100):
        (path,) = written(values, files.write_parquet(tmp_path / "{time}.parquet"), limit)
        table = pa.parquet.read_table(path)
        assert table.schema.types == [pa.float64(), pa.string(), pa.list_(pa.int64())]
        assert table.to_pylist()[1] == {"a": 1.0, "b": "x", "c": None}
        assert table.num_rows == 4


@pytest.mark.parametrize("write", [files.write_csv, files.write_parquet, files.write_arrow])
def test_a_schema_may_be_a_mapping(write, tmp_path):
    """Of names to types or names of types: the file and the journal are as with pyarrow's schema."""

    def pipeline(schema):
        sold = ps.reduce_by_key(ps.agg.sum(lambda sale: sale[1]), key=lambda sale: sale[0])
        return ps.pipe(ps.values([("tea", 3), ("tea", 4)]), sold, write(tmp_path / "{time}", schema=schema))

    given = {"item": "string", "sold": pa.int16()}
    own = pipeline(pa.schema([("item", pa.string()), ("sold", pa.int16())]))
    assert fingerprint(pipeline(given)) == fingerprint(own) != fingerprint(pipeline({**given, "sold": "int64"}))
    (path,) = ps.run(own)
    content = path.read_bytes()
    (path,) = ps.run(pipeline(given))
    assert path.read_bytes() == content
    assert b"sold" in content


@pytest.mark.parametrize("schema", [None, {"unit price": "int64", "class": "string", "_1": "int64"}])
def test_invalid_python_names_are_copied(schema, tmp_path):
    (tmp_path / "in.csv").write_text("unit price,class,_1\n1,a,2\n")
    rows = files.read_csv(tmp_path / "in.csv")
    expected = [{"unit price": 1, "class": "a", "_1": 2}]
    for write in (files.write_csv, files.write_parquet, files.write_arrow, files.write_jsonl):
        given = {} if write is files.write_jsonl else {"schema": schema}
        suffix = write.__name__.removeprefix("write_")
        target = tmp_path / f"{{time}}-{{key}}.{suffix}"
        assert ps.run(ps.pipe(rows, write(target, key="class", **given))) == [tmp_path / f"0-a.{suffix}"]
        back = getattr(files, f"read_{suffix}")(tmp_path / f"0-a.{suffix}", as_="dicts")
        assert ps.run(ps.pipe(back, ps.collect())) == expected


@pytest.mark.parametrize(
    ("kind", "values", "text"),
    [
        (pa.int64(), [1, None, 2], '1\n""\n2\n'),
        (pa.bool_(), [None], '""\n'),
        (pa.null(), [None, None], '""\n""\n'),
        (pa.string(), ["x\n\ny", None], '"x\n\ny"\n""\n'),
        (pa.large_string(), [None, "x"], '""\n"x"\n'),
        (pa.dictionary(pa.int8(), pa.string()), [None, "\n\n", None], '""\n"\n\n"\n""\n'),
    ],
)
def test_csv_with_one_column(kind, values, text, tmp_path):
    """A null must not become an empty line, which is not a row."""
    batch = pa.table({"a": pa.array(values, kind)})
    (path,) = written([batch], files.write_csv(tmp_path / "{time}.csv"))
    assert path.read_text() == f'"a"\n{text}'
    lines = pyarrow.csv.ParseOptions(newlines_in_values=True)
    rows = ps.run(ps.pipe(files.read_csv(path, as_="dicts", parse_options=lines), ps.collect()))
    assert [row["a"] or None for row in rows] == values


def test_csv_distinguishes_null_from_empty_text(tmp_path):
    """With the options that the documentation of `read_csv` names; without them, both are ""."""
    rows = [{"item": text, "n": n} for n, text in enumerate(["tea", None, "", "NULL"])]
    (path,) = written(rows, files.write_csv(tmp_path / "{time}.csv"))
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    assert ps.run(ps.pipe(files.read_csv(path, as_="dicts", convert_options=options), ps.collect())) == rows
    plain = ps.run(ps.pipe(files.read_csv(path, as_="dicts"), ps.collect()))
    assert [row["item"] for row in plain] == ["tea", "", "", "NULL"]
