"""The values of files of each format and in each form; batching has no effect."""

import bz2
import gzip
import json
import lzma
import pickle
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import files

ROWS = [(day, f"c{number}", number / 2) for day in (1, 2, 3) for number in range(5)]

TABLE = pa.table(
    {"day": [row[0] for row in ROWS], "carrier": [row[1] for row in ROWS], "delay": [row[2] for row in ROWS]}
)


def write(path, kind):
    """The table in a format, and the function that reads it."""
    if kind == "csv":
        pc.write_csv(TABLE, path)
        return files.read_csv
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in TABLE.to_pylist()))
        return files.read_jsonl
    if kind == "parquet":
        pq.write_table(TABLE, path, row_group_size=4)
        return files.read_parquet
    make = pa.ipc.new_file if kind == "ipc file" else pa.ipc.new_stream
    with make(path, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=4)
    return files.read_arrow


KINDS = ["csv", "jsonl", "parquet", "ipc file", "ipc stream"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_forms_and_options_of_a_table(kind, folder, read):
    """Rows are the same in every form, at every limit and block size, and have the times that were asked for."""
    path = folder / "data"
    reader = write(path, kind)

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
    if "ipc" not in kind:
        schema = {"delay": "float64"} if kind != "parquet" else None
        for size in (1, 7, 64):
            assert read(reader(path, as_="tuples", schema=schema, block_size=size)) == ROWS


def test_schema_sets_types(put, folder, read):
    """schema= has the same effect in every format, and other columns have the file's types."""
    csv = put("a.csv", "x,y\n1,2\n3,\n")
    jsonl = put("a.jsonl", '{"x": 1, "y": 2}\n{"x": 3}\n')
    pq.write_table(pa.table({"x": [1, 3], "y": [2, None]}), folder / "a.parquet")

    for source in (
        files.read_csv(csv, as_="tuples", schema={"y": "float32"}),
        files.read_jsonl(jsonl, as_="tuples", schema={"y": pa.float32()}),
        files.read_parquet(folder / "a.parquet", as_="tuples", schema=pa.schema({"y": pa.float32()})),
    ):
        got = read(source)
        assert got == [(1, 2.0), (3, None)]
        assert isinstance(got[0][1], float)


def test_timestamps_are_microseconds_and_dates_are_dates(put, read):
    """The same values as from Spark."""
    path = put("a.csv", "at,day\n2026-03-01 00:00:01,2026-03-01\n")

    (row,) = read(files.read_csv(path))

    assert row.at == int(datetime(2026, 3, 1, 0, 0, 1, tzinfo=UTC).timestamp() * 1e6)
    assert row.day == date(2026, 3, 1)


def test_json_lines_are_exact(put, read):
    """Dicts are as from json: big numbers, nested values, different fields per line; other values are kept as well."""
    values = [{"a": 2**80, "b": {"c": [1, None, "x\u2028y"]}}, {"d": 1.5}, [1], "text", None, 3]
    path = put("a.jsonl", "\n\n".join(json.dumps(value, ensure_ascii=False) for value in values) + "\n \n")

    assert read(files.read_jsonl(path)) == values


def test_objects_with_chosen_members(put, read):
    """columns= selects members, and gives None for missing ones."""
    path = put("a.jsonl", '{"a": 1, "b": {"c": 2}}\n{"b": 3}\n')

    assert read(files.read_jsonl(path, columns=["a"])) == [{"a": 1}, {"a": None}]


def test_members_of_mixed_types_that_are_not_selected(put, read):
    """Members that are not selected may have any types."""
    path = put("a.jsonl", '{"a": 1, "n": [1]}\n{"a": 2, "n": "x"}\n')

    assert read(files.read_jsonl(path, as_="tuples", columns=["a"])) == [(1,), (2,)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_byte_order_marks_and_the_last_line(end, last, bom, put, read):
    """Lines end with LF or CRLF, the last end may be missing, and a mark at the beginning is not part of the text."""
    text = end.join(["x,y", "1,a", "2,é"]) + (end if last else "")
    csv = put("a.csv", bom + text.encode())
    jsonl = put("a.jsonl", bom + (end.join(['{"x": 1}', '{"x": 2}']) + (end if last else "")).encode())

    for size in (1, 5, 1 << 20):
        assert read(files.read_text(csv, block_size=size)) == ["x,y", "1,a", "2,é"]
        assert read(files.read_csv(csv, as_="tuples", block_size=size)) == [(1, "a"), (2, "é")]
        assert read(files.read_jsonl(jsonl, block_size=size)) == [{"x": 1}, {"x": 2}]
        assert read(files.read_jsonl(jsonl, as_="tuples", block_size=size)) == [(1,), (2,)]


def test_only_line_feeds_end_lines(put, read):
    """Other separators of Python's splitlines, such as U+2028 or a form feed, are text."""
    path = put("a.txt", "a\u2028b\x0cc\x85d\n\ne\n")

    assert read(files.read_text(path)) == ["a\u2028b\x0cc\x85d", "", "e"]


@pytest.mark.parametrize("reader", [files.read_text, files.read_bytes, files.read_csv, files.read_jsonl])
def test_empty_files_give_nothing(reader, put, read):
    """Neither alone, nor between other files."""
    assert read(reader([put("a", ""), put("b", b"\xef\xbb\xbf")][: 1 if reader is files.read_bytes else 2])) == []


def test_a_header_alone_gives_nothing(put, read):
    """A CSV file with only a header has no rows, and determines no types."""
    assert read(files.read_csv([put("a.csv", "x,y\n"), put("b.csv", "x,y\n1,2\n")], as_="tuples")) == [(1, 2)]


def test_a_first_line_without_its_end(put, read):
    """It is a header, or a row, nevertheless."""
    assert read(files.read_csv(put("a.csv", "x,y"), as_="tuples")) == []
    headless = pc.ReadOptions(autogenerate_column_names=True)
    assert read(files.read_csv(put("a.csv", "1,2"), as_="tuples", read_options=headless)) == [(1, 2)]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "utf-8-sig", "cp1252"])
def test_encodings(encoding, put, read):
    """Text in other encodings, in every format of lines."""
    path = put("a.csv", "name\né\nü\n".encode(encoding))
    assert read(files.read_text(path, encoding=encoding)) == ["name", "é", "ü"]
    assert read(files.read_csv(path, as_="tuples", encoding=encoding)) == [("é",), ("ü",)]
    path = put("a.jsonl", '{"n": "é"}\n'.encode(encoding))
    assert read(files.read_jsonl(path, encoding=encoding)) == [{"n": "é"}]


COMPRESS = {
    "gzip": (".gz", gzip.compress),
    "bz2": (".bz2", bz2.compress),
    "xz": (".xz", lzma.compress),
    "zstd": (".zst", lambda data: pa.compress(data, "zstd", asbytes=True)),
    "lz4": (".lz4", lambda data: pa.compress(data, "lz4", asbytes=True)),
    "brotli": (".br", lambda data: pa.compress(data, "brotli", asbytes=True)),
}


@pytest.mark.parametrize("how", COMPRESS)
def test_compressed(how, put, folder, read):
    """By name, or with compression=; with compression=None the bytes are as in the file."""
    suffix, compress = COMPRESS[how]
    data = "".join(f"{n},{n * n}\n" for n in range(1000)).encode()
    small = compress(b"a,b\n" + data)
    path = put(f"a.csv{suffix}", small)
    other = put("b", small)

    assert read(files.read_csv(path, as_="tuples")) == [(n, n * n) for n in range(1000)]
    assert len(read(files.read_text(other, compression=how, block_size=100))) == 1001
    assert b"".join(read(files.read_bytes(path, compression=None))) == small
    blocks = read(files.read_bytes(path, block_size=1000))
    assert b"".join(blocks) == b"a,b\n" + data
    assert {len(block) for block in blocks[:-1]} == {1000}


def test_csv_options(put, read):
    """pyarrow's options describe the file."""
    path = put("a.csv", '# said by a machine\n1;"x\n""y"\n\n2;z\n')
    source = files.read_csv(
        path,
        as_="tuples",
        delimiter=";",
        read_options=pc.ReadOptions(column_names=["n", "text"], skip_rows=1),
        parse_options=pc.ParseOptions(newlines_in_values=True),
    )
    for size in (1, 1 << 20):
        assert read(source) == [(1, 'x\n"y'), (2, "z")]
        source = files.read_csv(
            path,
            as_="tuples",
            block_size=size,
            read_options=pc.ReadOptions(autogenerate_column_names=True, skip_rows=1),
            parse_options=pc.ParseOptions(newlines_in_values=True, delimiter=";"),
            convert_options=pc.ConvertOptions(column_types={"f0": pa.int64()}),
        )


def test_lines_skipped_after_the_header(put, read):
    """Both options for lines to skip, across blocks."""
    path = put("a.csv", "skipped\nalso\nn\nunits\n1\n2\n")
    for size in (1, 1 << 20):
        read_options = pc.ReadOptions(skip_rows=2, skip_rows_after_names=1)
        source = files.read_csv(path, as_="tuples", block_size=size, read_options=read_options)
        assert read(source) == [(1,), (2,)]


def test_a_column_that_is_empty_at_first_is_text(put, read):
    """The first block decides, and has no other evidence."""
    path = put("a.csv", "n,note\n1,\n2,\n3,x\n")

    assert read(files.read_csv(path, as_="tuples", block_size=12)) == [(1, ""), (2, ""), (3, "x")]


def test_blueprints_are_data(put, read):
    """A source of files can be read again and pickled, and shows its paths."""
    source = files.read_csv(put("a.csv", "x\n1\n"), time="x", delimiter=";", schema={"x": "int32"})
    again = pickle.loads(pickle.dumps(source))

    assert read(source) == read(source) == read(again) == [(1,)]
    assert repr(source).startswith("read_csv(")


def test_nothing_is_read_before_the_first_ask(put, opened, folder):
    """Composing and opening do not access files."""
    path = put("a.txt", "a\n")
    source = files.read_text(path)
    path.unlink()
    path.write_text("b\n")

    assert ps.run(ps.pipe(source, ps.collect())) == ["b"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_block_that_is_too_large_for_pyarrow(kind, put, read, monkeypatch):
    """It is parsed in several pieces; nothing is refused."""
    monkeypatch.setattr(f"adapters.files.reading.{kind}.MOST", 64)
    lines = {"csv": ["x", *map(str, range(100))], "jsonl": [json.dumps({"x": x}) for x in range(100)]}[kind]
    make = {"csv": files.read_csv, "jsonl": files.read_jsonl}[kind]

    assert read(make(put("a", "\n".join(lines)), as_="tuples")) == [(x,) for x in range(100)]


def test_large_values_are_read_a_few_at_a_time(put, read, tmp_path):
    """As many rows as fit in 64 MiB, at least one; at most 65,536."""
    rows = {"n": list(range(40)), "large": [bytes([n]) * (4 << 20) for n in range(40)]}
    pq.write_table(pa.table(rows), tmp_path / "large.parquet", use_dictionary=False, compression="none")
    batches = read(files.read_parquet(tmp_path / "large.parquet", as_="batches"))
    assert max(map(len, batches)) == 15
    assert [n for batch in batches for n in batch.column("n").to_pylist()] == rows["n"]
    batches = read(files.read_parquet(tmp_path / "large.parquet", as_="batches", columns=["n"]))
    assert list(map(len, batches)) == [40]
