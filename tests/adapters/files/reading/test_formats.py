"""The values of files in each format and form; batching has no effect; concatenated files are refused."""

import gzip
import io
import json

import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import files
from adapters.arrow.columns import ColumnTimes
from adapters.files.reading import parquet
from adapters.files.reading.errors import FileReadError
from tests.adapters.files.reading.tables import READERS, write

ROWS = [(day, f"c{number}", number / 2) for day in (1, 2, 3) for number in range(5)]


TABLE = pa.table(
    {"day": [row[0] for row in ROWS], "carrier": [row[1] for row in ROWS], "delay": [row[2] for row in ROWS]}
)


@pytest.mark.parametrize("kind", [kind for kind in READERS if kind != "csv.gz"])
def test_the_forms_and_options_of_a_table(kind, folder, read):
    path = folder / "data"
    reader = write(TABLE, path, kind, 4)

    for limit in (1, 2, 7, 4096):
        rows = read(reader(path, as_="rows", time="day"), timed=True, limit=limit)
        assert rows == [(row[0], row) for row in ROWS]
        assert rows[0][1].carrier == "c0"
    assert read(reader(path, as_="tuples")) == ROWS
    assert read(reader(path, as_="dicts")) == TABLE.to_pylist()
    batches = read(reader(path, as_="batches"))
    assert pa.Table.from_batches(batches).to_pylist() == TABLE.to_pylist()
    for time, batch in read(reader(path, as_="batches", time="day"), timed=True):
        assert set(batch.column("day").to_pylist()) == {time}, "a batch has one time"
    assert read(reader(path, as_="tuples", columns=["delay", "day"])) == [(delay, day) for day, _, delay in ROWS]
    by_row = read(reader(path, as_="tuples", time=lambda row: row[0] * 10), timed=True)
    assert [time for time, _ in by_row] == [row[0] * 10 for row in ROWS]
    if "arrow" not in kind:
        schema = {"delay": "float64"} if kind != "parquet" else None
        for size in (1, 7, 64):
            assert read(reader(path, as_="tuples", schema=schema, block_size=size)) == ROWS


QUOTED = pc.ParseOptions(newlines_in_values=True, delimiter=";")
BROKEN_LINES = pc.ParseOptions(newlines_in_values=True)
ODD = '# said by a machine\n1;"x\n""y"\n\n2;z\n'
ODD_ROWS = [(1, 'x\n"y'), (2, "z")]
STRAY = 'n;text\n1;5" pipe\n2;"x\n"\n3;end"\n4;"y;"\n5;"""\n""z"""\n'
STRAY_ROWS = [(1, '5" pipe'), (2, "x\n"), (3, 'end"'), (4, "y;"), (5, '"\n"z"')]
ESCAPING = pc.ParseOptions(newlines_in_values=True, delimiter=";", escape_char="\\")
ESCAPED = 'n;text\n1;"x\\"\n"\n2;\\;"y\n3;\\\nz\n'
ESCAPED_ROWS = [(1, 'x"\n'), (2, ';"y'), (3, "\nz")]
SINGLE = pc.ParseOptions(newlines_in_values=True, delimiter=";", double_quote=False)
NAMED = pc.ReadOptions(column_names=["n", "text"], skip_rows=1)
NUMBERED = pc.ReadOptions(autogenerate_column_names=True, skip_rows=1)
HEADLESS = pc.ReadOptions(autogenerate_column_names=True)
SKIPPING = pc.ReadOptions(skip_rows=2, skip_rows_after_names=1)
INTEGER = pc.ConvertOptions(column_types={"f0": pa.int64()})
MEMBERS = '{"a": 1, "n": [1]}\n{"a": 2, "n": "x"}\n{"n": 3}\n'


@pytest.mark.parametrize(
    ("kind", "text", "options", "rows"),
    [
        # Other separators for Python's splitlines, such as U+2028 or a form feed, are text.
        ("text", "a\u2028b\x0cc\x85d\n\ne\n", {}, ["a\u2028b\x0cc\x85d", "", "e"]),
        ("csv", "x,y", {}, []),
        # With a byte order mark, Windows line ends, and no line end after the last line.
        ("csv", "\ufeffx,y\r\n1,a\r\n2,é", {}, [(1, "a"), (2, "é")]),
        ("jsonl", '\ufeff{"a": 1}\r\n{"a": 2}', {}, [(1,), (2,)]),
        ("csv", "1,2", {"read_options": HEADLESS}, [(1, 2)]),
        ("csv", ODD, {"read_options": NAMED, "parse_options": QUOTED}, ODD_ROWS),
        ("csv", ODD, {"read_options": NUMBERED, "parse_options": QUOTED, "convert_options": INTEGER}, ODD_ROWS),
        ("csv", ODD, {"read_options": NAMED, "parse_options": BROKEN_LINES, "delimiter": ";"}, ODD_ROWS),
        # A quote within a value, or at its end, opens none.
        ("csv", STRAY, {"parse_options": QUOTED}, STRAY_ROWS),
        ("csv", ESCAPED, {"parse_options": ESCAPING}, ESCAPED_ROWS),
        ("csv", 'n;text\n1;"a""\n2;b', {"parse_options": SINGLE}, [(1, 'a"'), (2, "b")]),
        ("csv", "skipped\nalso\nn\nunits\n1\n2\n", {"read_options": SKIPPING}, [(1,), (2,)]),
        # The first block makes the column text, for lack of other evidence.
        ("csv", "n,note\n1,\n2,\n3,x\n", {"block_size": 12}, [(1, ""), (2, ""), (3, "x")]),
        # The last line, without a line end, is a part of the first block.
        ("csv", "x\n1\n2.5", {"block_size": 99}, [(1.0,), (2.5,)]),
        ("csv", 'x\n1\n"a\nb"', {"block_size": 99, "parse_options": BROKEN_LINES}, [("1",), ("a\nb",)]),
        ("jsonl", '{"x": 1}\n{"x": 2, "y": 3}', {"block_size": 99}, [(1, None), (2, 3)]),
        # Members that are not selected may have any types; a missing one is null.
        ("jsonl", MEMBERS, {"columns": ["a"]}, [(1,), (2,), (None,)]),
        ("jsonl", MEMBERS, {"columns": ["a"], "as_": "dicts"}, [{"a": 1}, {"a": 2}, {"a": None}]),
        ("jsonl", r'{"\ud800": "\udfff"}', {"as_": "dicts"}, [{"\ud800": "\udfff"}]),
    ],
)
def test_options(kind, text, options, rows, put, read):
    make = getattr(files, f"read_{kind}")
    options = {"as_": "tuples", **options} if kind != "text" else options
    for size in [options.pop("block_size")] if "block_size" in options else (1, 1 << 20):
        assert read(make(put("a", text), block_size=size, **options)) == rows


@pytest.mark.parametrize("reader", [files.read_text, files.read_bytes, files.read_csv, files.read_jsonl])
def test_empty_files_give_nothing(reader, put, read):
    assert read(reader([put("a", ""), put("b", b"\xef\xbb\xbf")][: 1 if reader is files.read_bytes else 2])) == []
    assert read(files.read_csv([put("c", "x,y\n"), put("d", "x,y\n1,2\n")], as_="tuples")) == [(1, 2)]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig", "cp1252"])
def test_encodings(encoding, put, read):
    path = put("a.csv", "name\né\nü\n".encode(encoding))
    assert read(files.read_text(path, encoding=encoding)) == ["name", "é", "ü"]
    assert read(files.read_csv(path, as_="tuples", encoding=encoding)) == [("é",), ("ü",)]
    path = put("a.jsonl", '{"n": "é"}\n'.encode(encoding))
    assert read(files.read_jsonl(path, encoding=encoding)) == [{"n": "é"}]


def test_compression(put, read):
    """By name, or with compression=; None gives the file's own bytes. Block sizes count decoded bytes."""
    data = "".join(f"{n},{n * n}\n" for n in range(1000)).encode()
    small = gzip.compress(data)
    path = put("a.csv.gz", small)
    assert len(read(files.read_text(put("b", small), compression="gzip", block_size=100))) == 1000
    assert b"".join(read(files.read_bytes(path, compression=None))) == small
    blocks = read(files.read_bytes(path, block_size=1000))
    assert b"".join(blocks) == data
    assert {len(block) for block in blocks[:-1]} == {1000}


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_block_that_is_too_large_for_pyarrow(kind, put, read, monkeypatch):
    monkeypatch.setattr(f"adapters.files.reading.{kind}.MOST", 64)
    lines = {"csv": ["x", *map(str, range(100))], "jsonl": [json.dumps({"x": x}) for x in range(100)]}[kind]
    make = {"csv": files.read_csv, "jsonl": files.read_jsonl}[kind]

    assert read(make(put("a", "\n".join(lines)), as_="tuples")) == [(x,) for x in range(100)]


def test_large_values_are_read_a_few_at_a_time(put, read, tmp_path, monkeypatch):
    """As many rows as fit in `parquet.BYTES`, at least one; at most 65,536."""
    assert parquet.BYTES == 64 << 20
    monkeypatch.setattr(parquet, "BYTES", 1 << 20)
    rows = {"n": list(range(40)), "large": [bytes([n]) * (64 << 10) for n in range(40)]}
    pq.write_table(pa.table(rows), tmp_path / "large.parquet", use_dictionary=False, compression="none")
    batches = read(files.read_parquet(tmp_path / "large.parquet", as_="batches"))
    assert max(map(len, batches)) == 15
    assert [n for batch in batches for n in batch.column("n").to_pylist()] == rows["n"]
    batches = read(files.read_parquet(tmp_path / "large.parquet", as_="batches", columns=["n"]))
    assert list(map(len, batches)) == [40]


def parquet_bytes(rows, **options):
    data = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array(rows, pa.int64()), "s": [f"{n}" for n in rows]}), data, **options)
    return data.getvalue()


def arrow_bytes(rows, size=3, **options):
    data = io.BytesIO()
    table = pa.table({"n": pa.array(rows, pa.int64()), "s": pa.array([f"{n % 2}" for n in rows]).dictionary_encode()})
    with pa.ipc.new_file(data, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=size)
    return data.getvalue()


def polars_bytes(rows):
    data = io.BytesIO()
    pl.DataFrame({"n": rows, "s": [f"{n}" for n in rows]}, {"n": pl.Int64, "s": pl.Categorical}).write_ipc(data)
    return data.getvalue()


WAYS = [
    ("parquet", files.read_parquet, parquet_bytes, {}),
    ("parquet indexed", files.read_parquet, parquet_bytes, {"write_page_index": True, "row_group_size": 3}),
    ("parquet plain", files.read_parquet, parquet_bytes, {"use_dictionary": False, "compression": "none"}),
    ("arrow", files.read_arrow, arrow_bytes, {}),
    ("arrow compressed", files.read_arrow, arrow_bytes, {"compression": "zstd", "unify_dictionaries": True}),
    ("arrow as it was", files.read_arrow, arrow_bytes, {"use_legacy_format": True}),
    ("arrow of polars", files.read_arrow, polars_bytes, {}),
]


@pytest.mark.parametrize(("reader", "make", "options"), [way[1:] for way in WAYS], ids=[way[0] for way in WAYS])
class TestJoined:
    # ruff: noqa: PLR0917 - pytest gives them by name
    @pytest.mark.parametrize("counts", [(5, 5), (5, 900), (900, 5), (0, 5), (5, 0), (5, 5, 5), (900, 900)])
    def test_joined_files_are_refused(self, reader, make, options, counts, put, read):
        path = put("data", b"".join(make(list(range(count)), **options) for count in counts))
        with pytest.raises(FileReadError, match="consists of several .* files joined end to end"):
            read(reader(path))

    @pytest.mark.parametrize("count", [0, 1, 5, 900])
    def test_a_single_file_is_read(self, reader, make, options, count, put, read):
        """Indexes, dictionaries and many small batches are not mistaken for a second file."""
        assert len(read(reader(put("data", make(list(range(count)), **options))))) == count


def test_views_become_plain_columns(put, read):
    """Arrow cannot select rows of views, as a filter or a writer does."""
    plain = pa.table({"s": ["tea", None], "b": [b"t", None], "l": [["tea"], None], "r": [{"s": "tea"}, None]})
    data, frame = io.BytesIO(), pl.from_arrow(plain)
    frame.with_columns(c=pl.col("s").cast(pl.Categorical)).write_ipc(data)
    (batch,) = read(files.read_arrow(put("data", data.getvalue()), as_="batches"))
    assert "view" not in f"{batch.schema.types}"
    assert batch.take(pa.array([1, 0])).to_pylist() == [
        {"s": None, "b": None, "l": None, "r": None, "c": None},
        {"s": "tea", "b": b"t", "l": ["tea"], "r": {"s": "tea"}, "c": "tea"},
    ]


TABS = pc.ReadOptions(column_names=["a", "b"])
TEXTS = {"schema": {"a": "string", "b": "string"}}


@pytest.mark.parametrize(
    ("data", "rows", "options"),
    [
        (b"a\n1\n%s3\n", [(1,), (3,)], {}),
        (b"a\n1\n%s3\n", [(1,), *[(None,)] * 9, (3,)], {"parse_options": pc.ParseOptions(ignore_empty_lines=False)}),
        (b"a\n%s3\n", [*[(None,)] * 9, (3,)], {"parse_options": pc.ParseOptions(ignore_empty_lines=False)}),
        (b"a\tb\n1\t2\n%s\n3\t4\n", [(1, 2), *[(None, None)] * 9, (3, 4)], {"delimiter": "\t"}),
        (b"%s3\t4\n", [*[(None, None)] * 9, (3, 4)], {"delimiter": "\t", "read_options": TABS}),
        (b"a\tb\n1\t2\n%s7\n3\t4\n", [(1, 2), *[(None, None)] * 9, (3, 4)], {"delimiter": "\t"}),
        (b"a\tb\n%s", [("", "")] * 9, {"delimiter": "\t"}),
        (b'a\tb\n1\t2"\n2"\t\n%s', [("1", '2"'), ('2"', ""), *[("", "")] * 9], {"delimiter": "\t", **TEXTS}),
        (b"a\nx\n%sy\n", [("x",), *[("  ",)] * 9, ("y",)], {"delimiter": ","}),
    ],
)
def test_empty_lines_in_csv(put, read, data, rows, options):
    """Wherever blocks are cut, an empty line is a row only on request; any other line is a row."""
    line = {"\t": b"\t\n", ",": b"  \n"}.get(options.get("delimiter"), b"\n")
    path = put("a", data.replace(b"%s", line * 9))
    for size in (*range(4, 30), 1 << 20):
        found = read(files.read_csv(path, block_size=size, on_error="skip", **options))
        assert found == rows, size


def test_a_value_may_equal_a_file_s_end_mark(put, read):
    data = io.BytesIO()
    rows = ["PAR1PAR1", "\x05\x00\x00\x00PAR1PAR1"] * 3
    pq.write_table(pa.table({"s": rows}), data, write_page_index=True, use_dictionary=False, compression="none")
    assert [row.s for row in read(files.read_parquet(put("data", data.getvalue())))] == rows


def test_times_are_converted_only_if_used(put, monkeypatch):
    """Modules that do not use a column's times leave them in Arrow, many rows arrive at once, and times complete."""
    path, answers = put("data", b""), []
    read = write(pa.table({"t": range(40), "n": range(40)}), path, "parquet")

    def made(self):
        raise AssertionError("times were converted")

    @ps.sink
    async def by_all_rows(upstream, ctx):
        # A sink that sets a pace may ask for fewer values than were read, and later for the rest.
        while (answer := await upstream.ask_many(40)) is not ps.DONE:
            answers.append(len(answer.values))

    monkeypatch.setattr(ColumnTimes, "_made", made)
    ps.run(ps.pipe(read(path, as_="tuples", time="t"), ps.map(lambda row: row[1]), by_all_rows()), limit=40)
    assert sum(answers) == 40
    assert len(answers) < 5


def test_the_types_of_a_parquet_file_are_read_once(folder, read, monkeypatch):
    """pyarrow builds them at each access: for every column of a table with thousands, that took seconds."""
    types, asked = pq.ParquetFile.schema_arrow, []
    monkeypatch.setattr(pq.ParquetFile, "schema_arrow", property(lambda file: asked.append(file) or types.fget(file)))
    pq.write_table(pa.table({f"c{number}": ["x"] for number in range(20)}), folder / "wide.parquet")
    assert read(files.read_parquet(folder / "wide.parquet", as_="tuples")) == [("x",) * 20]
    assert len(asked) == 1
