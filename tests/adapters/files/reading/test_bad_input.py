"""Bad input: an error names the file, the line if there is one, and what to do; or the policy handles it."""

import gzip
import json
import zipfile
import zlib

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import files
from adapters.files.reading import parsing


def parts(values):
    """The values that were read, and bad ones as (value, line)."""
    return [(value.value, value.error.line) if isinstance(value, ps.Failed) else value for value in values]


def test_a_row_with_too_many_fields(put, failing):
    """The rows before it arrive, then the failure, which has the line and the likely mistake."""
    path = put("a.csv", "x,y\n1,2\n3,4\n5,6,7\n8,9\n")

    got, error = failing(files.read_csv(path, as_="tuples"), files.FileReadError)

    assert got == [(1, 2), (3, 4)]
    assert (error.path, error.line) == (str(path), 4)
    told = "CSV parse error: Expected 2 columns, got 3: 5,6,7; check delimiter and quotes (or set on_error=)"
    assert str(error) == f"{path}:4: {told}"
    assert "read_csv, composed at" in error.__notes__[0]


BAD_CSV = b"x,y\r\n1,a\r\n\r\n2,b,c\r\nq,d\r\n3\r\n4,\xff\r\n5,e\r\n"


@pytest.mark.parametrize("size", [1, 10, 4 << 20])
def test_every_kind_of_bad_row_is_found_with_its_line(size, put, read):
    """Too many fields, too few, no number, no UTF-8: with any blocks; the good rows between them arrive."""
    path = put("a.csv", BAD_CSV)
    source = files.read_csv(path, as_="tuples", schema={"x": "int64"}, block_size=size, on_error="result")

    assert parts(read(source)) == [(1, "a"), (b"2,b,c", 4), (b"q,d", 5), (b"3", 6), (b"4,\xff", 7), (5, "e")]


def test_bad_rows_are_skipped_and_counted(put):
    """With on_error="skip" they are skipped, and the counters have their number."""
    path = put("a.csv", BAD_CSV)
    pipeline = ps.pipe(files.read_csv(path, as_="tuples", schema={"x": "int64"}, on_error="skip"), ps.collect())

    async def main():
        async with pipeline.open() as running:
            return await running.result(), running.counters()

    import trio

    got, counters = trio.run(main)
    assert got == [(1, "a"), (5, "e")]
    assert sum(counter.skipped for counter in counters) == 4


def test_bad_lines_go_to_a_sink(put, read):
    """With a sink as on_error, they are diverted to it, with their errors."""
    bad = []
    source = files.read_jsonl(put("a.jsonl", '{"a": 1}\nnothing\n{"a": 2}\n'), on_error=ps.drain(bad.append))

    assert read(source) == [{"a": 1}, {"a": 2}]
    assert parts(bad) == [(b"nothing", 2)]
    assert "is not valid JSON: Expecting value, at column 1" in str(bad[0].error)


def test_an_unclosed_quote_affects_only_its_line(put, read):
    """Only its own line is bad, wherever blocks end."""
    path = put("a.csv", 'x,y\n1,"a\n2,b\n3,c\n4,"d\n')
    for size in (1, 8, 4 << 20):
        source = files.read_csv(path, as_="tuples", schema={"x": "int64"}, block_size=size, on_error="result")
        assert parts(read(source)) == [(b'1,"a', 2), (2, "b"), (3, "c"), (b'4,"d', 5)]


def test_a_value_that_does_not_fit_later(put, failing):
    """The first block decides the types; a later value that does not fit is an error."""
    path = put("a.csv", "x\n1\n2\n3\n4.5\n")

    got, error = failing(files.read_csv(path, as_="tuples", block_size=4), files.FileReadError)

    assert got == [(1,), (2,), (3,)]
    assert error.line == 5
    assert "; name a type in schema= that fits all values" in str(error)
    assert str(error).endswith("(or set on_error=)")


@pytest.mark.parametrize("line", ["4,5,6", "no,5", "\xff,5"])
def test_with_a_policy_the_error_does_not_advise_one(line, put, read):
    """Advice must be useful to its reader."""
    path = put("a.csv", f"x,y\n1,2\n{line}\n".encode("latin-1"))
    _, failed = read(files.read_csv(path, schema={"x": "int64"}, on_error="result"))
    assert "on_error" not in str(failed.error)


@pytest.mark.parametrize("size", [4, 4 << 20])
def test_an_error_about_a_value_has_its_line_and_column_once(size, put, failing):
    """The line is the file's, and the column is named; pyarrow's own numbers are omitted."""
    path = put("a.csv", "x,y,z\n" + "1,2,3\n" * 500 + "4,In CSV column #1: Row #7: 5,6\n")
    source = files.read_csv(path, columns=["z", "y"], schema={"z": "int64", "y": "int64"}, block_size=size)

    _, error = failing(source, files.FileReadError)

    wrong = "invalid value 'In CSV column #1: Row #7: 5'"
    assert str(error).startswith(f"{path}:502: the column 'y': CSV conversion error to int64: {wrong}; ")
    assert error.__cause__ is None


def test_an_error_about_an_object_has_its_line_once(put, failing):
    """Also if lines of JSON become a table."""
    path = put("a.jsonl", '{"x": 1}\n' * 500 + '{"x": "1"}\n')

    _, error = failing(files.read_jsonl(path, as_="rows", schema={"x": "int64"}), files.FileReadError)

    assert str(error).startswith(f"{path}:501: JSON parse error: Column(/x) changed from number to string; ")

    _, error = failing(files.read_jsonl(path, as_="rows"), files.FileReadError)

    assert "types do not match: JSON parse error: Column(/x) changed from number to string; give schema=" in str(error)


def test_a_long_value_is_shortened(put, failing):
    """A message must not have a megabyte."""
    _, error = failing(
        files.read_csv(put("a.csv", f"x\n1\n{'9a' * 100_000}\n"), schema={"x": "int64"}), files.FileReadError
    )

    assert "invalid value '9a9a9a" in str(error)
    assert len(error.problem) < 500


@pytest.mark.parametrize("size", [1, 12, 4 << 20])
def test_an_unclosed_quote_before_empty_lines(size, put, read):
    """It is bad, with any blocks; the lines after it might be part of its value."""
    path = put("a.csv", 'x,y\n1,"a""\n\n\n2,b\n')
    found = read(files.read_csv(path, as_="tuples", block_size=size, on_error="result"))
    assert parts(found) == [(b'1,"a""', 2), (2, "b")]


@pytest.mark.parametrize("size", [40, 4 << 20])
def test_a_function_for_bad_rows_gets_them_once_in_order(size, put, read):
    """Although blocks are parsed in parallel; it gets no line number, which would count within a block."""
    seen = []

    def handle(row):
        seen.append((row.number, row.text))
        return "skip"

    path = put("a.csv", "x,y\n" + "".join(f"{n}\n" if n % 10 == 0 else "1,2\n" for n in range(1, 200)))
    parse = pc.ParseOptions(invalid_row_handler=handle)
    assert len(read(files.read_csv(path, parse_options=parse, block_size=size))) == 180
    assert seen == [(None, str(n)) for n in range(10, 200, 10)]


@pytest.mark.parametrize("front", ["\n" * 20, "nonsense\n[1]\n\n7\n"])
def test_the_first_objects_decide_the_columns(front, put, read):
    """A block without objects decides nothing, and later values are not lost."""
    path = put("a.jsonl", front + '{"x": 1}\n{"x": 2}\n')
    for size in (4, 4 << 20):
        assert read(files.read_jsonl(path, as_="tuples", block_size=size, on_error="skip")) == [(1,), (2,)]


def test_a_table_of_objects_gets_no_advice_for_csv(put, failing):
    """Two objects in a line are an error, for which CSV options are no help."""
    _, error = failing(files.read_jsonl(put("a.jsonl", '{"x": 1}{"x": 2}\n'), as_="rows"), files.FileReadError)

    assert "the row does not end at the end of its line" in str(error)
    assert "ParseOptions" not in str(error)


@pytest.mark.parametrize("reader", [files.read_text, files.read_jsonl])
def test_invalid_utf8(reader, put, failing):
    """The error has the byte, the line and advice; earlier values are delivered."""
    path = put("a.txt", b'"one"\n"tw\xe9o"\n"three"\n')

    got, error = failing(reader(path), files.FileReadError)

    assert len(got) == 1
    assert error.line == 2
    assert "is not valid UTF-8: byte 4 of the line is 0xe9; set encoding= (or set on_error=)" in str(error)


@pytest.mark.parametrize("end", [-1, -8, -300, 5])
def test_a_truncated_gzip_file(end, put, failing, read):
    """The data that can be decompressed arrives, then an error; with a policy, the other files are read."""
    lines = [json.dumps({"n": n * 7919 % 1000}) for n in range(20_000)]
    path = put("a.jsonl.gz", gzip.compress("\n".join(lines).encode())[:end])
    other = put("b.jsonl", '{"n": 0}\n')

    got, error = failing(files.read_jsonl([path, other]), files.FileReadError)

    assert got == [json.loads(line) for line in lines[: len(got)]]
    assert len(got) > (10_000 if end < 0 else -1)
    assert str(error).startswith(f"{path}: cannot be decompressed as gzip: ")
    *rest, failed, last = read(files.read_jsonl([path, other], on_error="result"))
    assert (rest, failed.value, last) == (got, str(path), {"n": 0})


@pytest.mark.parametrize("count", [0, 1, 5_000, 60_000])
def test_data_before_a_bad_position_in_gzip(count, put, failing):
    """Every line is delivered, however much zlib decodes at once."""
    lines = [str(n * 7919) for n in range(count)]
    press = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    good = press.compress("".join(f"{line}\n" for line in lines).encode()) + press.flush(zlib.Z_FULL_FLUSH)
    path = put("a.txt.gz", good + b"\xff" * 100)

    got, error = failing(files.read_text(path), files.FileReadError)

    assert got == lines
    assert str(error).startswith(f"{path}: cannot be decompressed as gzip: ")


def test_a_file_that_is_not_gzip(put, failing):
    """Its name has the suffix."""
    _, error = failing(files.read_text(put("a.gz", "plain text, and enough of it\n")), files.FileReadError)
    assert "a.gz: cannot be decompressed as gzip: " in str(error)


@pytest.mark.parametrize("size", [0, 3, 100, -1, -20])
def test_a_truncated_parquet_file(size, folder, put, failing, read):
    """Without its footer, none of it can be read, and the error says so."""
    good = folder / "good.parquet"
    pq.write_table(pa.table({"x": list(range(1000))}), good)
    path = put("bad.parquet", good.read_bytes()[:size])

    got, error = failing(files.read_parquet(path), files.FileReadError)

    assert got == []
    assert str(error).startswith(f"{path}: is not a readable Parquet file: ")
    first, *rest = read(files.read_parquet([path, good], on_error="result", as_="tuples"))
    assert first.value == str(path)
    assert rest == [(n,) for n in range(1000)]


def test_a_parquet_file_with_a_broken_middle(folder, put, failing):
    """The row groups before it arrive, and the error names the broken one."""
    good = folder / "good.parquet"
    table = pa.table({"x": list(range(300))})
    pq.write_table(table, good, row_group_size=100, compression="none", use_dictionary=False)
    data = bytearray(good.read_bytes())
    begin = pq.ParquetFile(good).metadata.row_group(1).column(0).data_page_offset
    data[begin : begin + 20] = b"\xff" * 20

    got, error = failing(files.read_parquet(put("bad.parquet", bytes(data)), as_="tuples"), files.FileReadError)

    assert got == [(n,) for n in range(100)]
    assert "cannot be read, in its row group 2 of 3: " in str(error)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_truncated_arrow_file(kind, folder, put, failing):
    """Files without a footer, and streams that end in the middle."""
    batch = pa.record_batch({"x": list(range(1000))})
    good = folder / "good"
    with pa.OSFile(str(good), "wb") as sink, getattr(pa.ipc, f"new_{kind}")(sink, batch.schema) as writer:
        writer.write(batch)
        writer.write(batch)
    path = put("bad", good.read_bytes()[:-4000])

    got, error = failing(files.read_arrow(path, as_="tuples"), files.FileReadError)

    assert got == ([] if kind == "file" else [(n,) for n in range(1000)])
    assert str(error).startswith(f"{path}: is not readable Arrow IPC")


def test_files_with_different_columns(put, failing, read):
    """The error lists missing and additional ones; columns= selects those that all files have."""
    paths = [put("a.csv", "x,y\n1,2\n"), put("b.csv", "z,x\n3,4\n")]

    got, error = failing(files.read_csv(paths, as_="tuples"), files.FileReadError)

    assert got == [(1, 2)]
    assert str(error).startswith(
        f"{paths[1]}: has no column 'y' and has additional columns: 'z', unlike {paths[0]} before it"
    )
    assert "columns=[...]" in str(error)
    assert read(files.read_csv(paths, as_="tuples", columns=["x"])) == [(1,), (4,)]
    assert read(files.read_csv([paths[0], put("c.csv", "y,x\n5,6\n")], as_="tuples")) == [(1, 2), (6, 5)]


def test_parquet_files_with_different_types(folder, failing, read):
    """The error has both types, and schema= makes them equal."""
    pq.write_table(pa.table({"x": [1]}), folder / "a.parquet")
    pq.write_table(pa.table({"x": [1.5]}), folder / "b.parquet")

    _, error = failing(files.read_parquet(folder), files.FileReadError)

    assert "b.parquet: the column 'x' is double, but int64 in " in str(error)
    assert "schema={'x': 'int64'}" in str(error)
    assert read(files.read_parquet(folder, as_="tuples", schema={"x": "float64"})) == [(1.0,), (1.5,)]
    _, error = failing(files.read_parquet(folder, schema={"x": "int32"}), files.FileReadError)
    assert "does not match schema=" in str(error)


def test_json_with_different_types_and_members(put, read):
    """An unknown member, and a value of another type, are bad lines of a table."""
    path = put("a.jsonl", '{"x": 1}\n{"x": "2"}\n{"x": 3, "y": 4}\n[5]\n{"x": 6}\n')

    for size, third in ((1, (b'{"x": 3, "y": 4}', 3)), (4 << 20, (3, 4))):
        got = read(files.read_jsonl(path, as_="tuples", schema={"x": "int64"}, block_size=size, on_error="result"))
        rest = (None,) if third == (3, 4) else ()
        assert parts(got) == [(1, *rest), (b'{"x": "2"}', 2), third, (b"[5]", 4), (6, *rest)]


@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_missing_columns(kind, on_error, put, folder, failing):
    """The error lists the existing ones, with any policy: with a wrong name, nothing would be read."""
    path = put("a.csv", "x,y\n1,2\n")
    if kind != "csv":
        path = folder / f"a.{kind}"
        table = pa.table({"x": [1], "y": [2]})
        pq.write_table(table, path) if kind == "parquet" else pa.feather.write_feather(table, path)
    read = getattr(files, f"read_{kind}")
    for option in ({"columns": ["z"]}, {"schema": {"z": "int64"}}, {"time": "z"}):
        _, error = failing(read(path, **option, on_error=on_error), files.NoColumnError)
        named = ", which time= names" if "time" in option else ""
        assert str(error) == f"{path}: has no column 'z'{named}; it has 'x', 'y'"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"x": 2, "y": 3}', "it has no member 'day', which time= names; it has 'x', 'y'; check time="),
        ('{"day": null}', "'day', which time= names, is null"),
        ("[1]", "it is not an object, but time= names a member, 'day'"),
    ],
)
def test_a_value_without_its_time(line, told, put, failing, read):
    """A line of JSON may lack a member: the message lists its members, and a policy skips it."""
    path = put("a.jsonl", f'{{"day": 1}}\n{line}\n')
    got, error = failing(files.read_jsonl(path, time="day"), files.FileReadError)
    assert got == [{"day": 1}]
    assert f"{path}:2: has a value without a time: {told}" in str(error)
    assert read(files.read_jsonl(path, time="day", on_error="skip")) == [{"day": 1}]


@pytest.mark.parametrize("as_", ["rows", "dicts", "batches"])
def test_a_line_with_a_decreasing_time_is_named(as_, put, failing, read):
    """By its number, also after rows without a time; and the advice works."""
    rows = [1, 2, None, 2, 1, 3]
    text = "".join(json.dumps({"day": day}) + "\n" for day in rows)
    path = put("a.jsonl", text)
    source = files.read_jsonl(path, time="day", as_=as_, on_error="skip")
    _, error = failing(source, ps.errors.CapabilityError)
    assert str(error).startswith(f"{path}:5: goes back in time, to 1 after 2. Sort the input, or read it without ")
    below = ps.stamp(lambda row: row["day"] or 2, lateness=1)
    assert len(read(ps.pipe(files.read_jsonl(path), below))) == len(rows)


@pytest.mark.parametrize("path", ["x.jsonl", "in/*.ndjson", "x.jsonl.gz", ["a.csv", "b.jsonl"]])
def test_json_lines_are_not_csv(path):
    """They would be read as meaningless rows, without an error."""
    with pytest.raises(ps.CompositionError, match=r"which is JSON Lines: use read_jsonl"):
        files.read_csv(path)
    for fine in ("x.jsonl.csv", "jsonl", "x.jsonl/*", "x.jsonl.csv.gz"):
        files.read_csv(fine)


def test_two_columns_with_one_name(put, failing):
    """Rows would be ambiguous."""
    _, error = failing(files.read_csv(put("a.csv", "x,x\n1,2\n")), files.FileReadError)
    assert "has several columns with the same name: 'x'" in str(error)


def test_a_missing_relative_path_is_shown_with_its_folder(folder, monkeypatch, failing):
    """So that a start in the wrong folder is visible; an absolute path is shown once."""
    monkeypatch.chdir(folder)
    for given, told in (
        ("in/tills.csv", f"in/tills.csv: does not exist, looked for as {folder}/in/tills.csv"),
        ("../*.csv", f"../*.csv: matches no file, looked for as {folder}/../*.csv; check the pattern, or wait"),
        (f"file://{folder}/tills.csv", f"file://{folder}/tills.csv: does not exist"),
    ):
        _, error = failing(files.read_text(given), files.NoFilesError)
        assert str(error).startswith(told)
        assert str(error).count(str(folder)) <= 1


def test_an_endless_line(put, failing, monkeypatch):
    """A line that is too long is refused before it fills the memory."""
    _, error = failing(files.read_text(put("a.txt", "x" * 1000), block_size=10), files.FileReadError)
    assert "a line is longer than 640 bytes: raise block_size=" in str(error)


def test_missing_files(folder, put, failing):
    """A path, a glob, a folder without files, a glob of folders: each has its own message."""
    put("sub/.hidden", "x")
    put("sub/deep/_part", "x")
    for path, told in (
        ("nothing.csv", "does not exist"),
        ("*.csv", "matches no file; check the pattern"),
        ("sub", "is a folder without files"),
        ("s*", f"matches only folders; to read the files in them, write {folder}/s*/*"),
        ("sub/deep/_part/x", ""),
    ):
        got, error = failing(files.read_text(folder / path), files.NoFilesError if told else Exception)
        assert got == []
        assert told in str(error)


def test_a_folder_is_read_recursively(put, folder, read):
    """Where a file is expected, a folder means all files in it, at any depth, in order of their names."""
    for name in ("b/2", "a", "b/1", "b/.x", "_SUCCESS", "c.part", "d.tmp", "_day=1/x"):
        put(f"in/{name}", f"{name}\n")
    assert read(files.read_text(folder / "in")) == ["_day=1/x", "a", "b/1", "b/2"]
    assert read(files.read_text(str(folder / "in" / "*"))) == ["a"]
    assert read(files.read_text([folder / "in/c.part", folder / "in/b", folder / "in/b/*"])) == ["c.part", "b/1", "b/2"]


def test_a_file_that_is_deleted_before_it_is_read(put, failing):
    """It existed when the run began; other files are delivered."""
    paths = [put("a", "one\n"), put("b", "two\n")]
    source = ps.pipe(files.read_text(paths, on_error="skip"), ps.tap(lambda _: paths[1].unlink()))

    got, error = failing(source, files.FileChangedError)

    assert got == ["one"]
    assert str(error) == f"{paths[1]}: no longer exists: keep files until they have been read"


def test_data_before_the_end_of_a_truncated_table(put, failing):
    """Complete rows arrive before the failure, including those of blocks that are read ahead."""
    path = put("a.csv", "n\n" + "1\n" * 100_000)
    cut = iter([lambda: path.write_text("n\n" + "1\n" * 50_000)])
    source = files.read_csv(path, as_="tuples", block_size=1000)

    got, _ = failing(ps.pipe(source, ps.tap(lambda _: next(cut, int)())), files.FileChangedError)

    assert len(got) == 50_000


def test_a_file_that_is_truncated_while_it_is_read(put, failing):
    """This is detected at the end, with any policy."""
    path = put("a", "line\n" * 100_000)
    cut = iter([lambda: path.write_text("line\n" * 50_000)])
    source = files.read_text(path, on_error="skip", block_size=1000)

    got, error = failing(ps.pipe(source, ps.tap(lambda _: next(cut, int)())), files.FileChangedError)

    assert len(got) == 50_000
    assert "had 500,000 bytes, but ended after 250,000: it was truncated while it was read" in str(error)


def test_errors_of_the_file_system_ignore_the_policy(put, failing):
    """An OSError is raised unchanged, with the path."""
    import fsspec

    class Broken:
        def __init__(self):
            self.fs = fsspec.filesystem("file")

        def __getattr__(self, name):
            return getattr(self.fs, name)

        def open(self, path, mode):
            file = self.fs.open(path, mode)

            class File:
                def __getattr__(self, name):
                    return getattr(file, name)

                def read(self, size=-1):
                    raise OSError("the disk is on fire")

            return File()

    class Closed(Broken):
        def open(self, path, mode):
            raise OSError("the disk is on fire")

    class NeverClosed(Broken):
        def open(self, path, mode):
            file = self.fs.open(path, mode)

            class File:
                def __getattr__(self, name):
                    return getattr(file, name)

                def close(self):
                    if not file.closed:
                        file.close()
                        raise OSError("the disk is on fire")

            return File()

    readers = {"a": files.read_text, "b.gz": files.read_text, "c": files.read_parquet, "d": files.read_arrow}
    for name, reader in readers.items():
        path = put(name, "x\n" * 100)
        for broken in (Broken(), Closed(), *([NeverClosed()] if name in {"a", "b.gz"} else [])):
            _, error = failing(reader(path, filesystem=broken, on_error="skip"), OSError)
            assert str(error) == "the disk is on fire"
            assert f"reading {path}" in error.__notes__


def test_an_archive_in_this_folder(folder, read, monkeypatch):
    """In a chained URL, a part with a dot is a path, even without folders."""
    monkeypatch.chdir(folder)
    with zipfile.ZipFile("good.zip", "w") as archive:
        archive.writestr("a.txt", "one\n")
    assert read(files.read_text("zip://*.txt::good.zip")) == ["one"]
    with pytest.raises(ps.CompositionError, match="fsspec has no file system for nosuch://"):
        files.read_text("zip://*.txt::nosuch")


def test_invalid_archives(folder, put, failing, read):
    """A zip file that is missing or invalid; and a valid one."""
    _, error = failing(files.read_text(f"zip://*.txt::{folder}/no.zip"), files.NoFilesError)
    assert "no.zip: does not exist" in str(error)
    put("bad.zip", "no archive")
    _, error = failing(files.read_text(f"zip://*.txt::{folder}/bad.zip"), files.FileReadError)
    assert "bad.zip: cannot be opened: the file is not a zip archive" in str(error)
    with zipfile.ZipFile(folder / "good.zip", "w") as archive:
        archive.writestr("2026-01-02.txt", "two\n")
        archive.writestr("2026-01-01.txt", "one\n")
        archive.writestr("sub/x.csv", "x\n1\n")
    source = files.read_text(f"zip://*.txt::{folder}/good.zip", time=files.name_time("[0-9-]{10}"))
    assert read(source, timed=True) == [("2026-01-01", "one"), ("2026-01-02", "two")]


def test_urls(read):
    """Any fsspec file system, by URL or as an object."""
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe({"/reading/a.txt": b"a\n", "/reading/b.txt": b"b\n"})
    try:
        for source in (
            files.read_text("memory://reading/*.txt", time=files.path_time(str)),
            files.read_text("/reading", filesystem=memory, time=files.path_time(str)),
        ):
            assert read(source, timed=True) == [("memory:///reading/a.txt", "a"), ("memory:///reading/b.txt", "b")]
    finally:
        memory.rm("/reading", recursive=True)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: files.read_text(3), "needs a path or a list of paths, and got 3"),
        (lambda: files.read_text([]), "got an empty list of paths"),
        (lambda: files.read_text([b"x"]), "got b'x', which is not a path"),
        (lambda: files.read_text(""), "got '', which is not a path"),
        (lambda: files.read_text("nosuch://x"), "fsspec has no file system for nosuch://"),
        (lambda: files.read_text("x", encoding="utf-9"), "got encoding='utf-9', which Python does not support"),
        (lambda: files.read_text("x", compression="rar"), "got compression='rar': it must be 'infer', None, or one of"),
        (lambda: files.read_text("x", folow=True), "does not have the option folow="),
        (lambda: files.read_text("x", every=0), "needs a positive number of seconds as its every"),
        (lambda: files.read_text("x", block_size=0), "needs a whole number of at least 1 as its block_size"),
        (lambda: files.read_text("x", time=3), "needs a callable as its time"),
        (lambda: files.read_text("x", on_error="ignore"), "got on_error='ignore'"),
        (lambda: files.read_csv("x", as_="lists"), "got as_='lists'"),
        (lambda: files.read_csv("x", columns="ab"), "needs columns= to be a list of distinct column names"),
        (lambda: files.read_csv("x", columns=["a"], time="b"), "got time='b', which is not among the columns ('a',)"),
        (
            lambda: files.read_csv("x", schema={"a": "number"}),
            "No type alias for number; use a mapping of column names to Arrow types",
        ),
        (lambda: files.read_csv("x", parse_options={}), "needs a pyarrow.csv.ParseOptions as its parse_options"),
        (lambda: files.read_csv("x", delimiter=", "), "got {'delimiter': ', '}"),
        (
            lambda: files.read_csv("x", parse_options=pc.ParseOptions(newlines_in_values=True, escape_char="\\")),
            "newlines_in_values and an escape_char together",
        ),
        (lambda: files.read_jsonl("x", schema={"a": "int64"}), "got schema=, which does not apply to dicts"),
        (lambda: files.name_time("("), "needs a regular expression: '('"),
        (lambda: files.path_time("x"), "needs a callable as its function"),
    ],
)
def test_invalid_arguments(make, told):
    """They are refused when composing, by name, with advice."""
    with pytest.raises(ps.CompositionError) as caught:
        make()
    assert told in str(caught.value)


def test_a_protocol_whose_package_is_missing(monkeypatch):
    """When composing, the error names the package to install."""
    import fsspec

    def missing(protocol):
        raise ImportError(f"Install {protocol}fs to access {protocol.upper()}")

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    with pytest.raises(ps.CompositionError, match="Install s3fs to access S3"):
        files.read_csv("s3://bucket/x.csv")


@pytest.mark.parametrize("kind", ["a number that is none", "too many", "a quote"])
@pytest.mark.parametrize("every", [2, 7, 100, 1])
def test_bad_rows_are_found_with_few_parses(kind, every, put, read, monkeypatch):
    """With their lines, and in order; two or three parses per bad row, however many there are."""
    row = {"a number that is none": "%d,x%d\n", "too many": "%d,%d,7\n", "a quote": '%d,"%d\n'}[kind]
    rows = [row % (n, n) if n % every == 0 else f"{n},2.5\n" for n in range(1000)]
    path = put("a.csv", "a,b\n" + "".join(rows))
    parses = []
    real = parsing.Sieve._checked
    monkeypatch.setattr(parsing.Sieve, "_checked", lambda *given: [parses.append(1), real(*given)][1])
    found = read(files.read_csv(path, schema={"a": "int64", "b": "float64"}, as_="tuples", on_error="result"))
    for n, each in enumerate(found):
        if n % every == 0:
            assert each.value == rows[n].rstrip().encode()
            assert f"a.csv:{n + 2}: " in str(each.error)
        else:
            assert each == (n, 2.5)
    bad = len(range(0, 1000, every))
    assert len(parses) <= 3 * bad + 64
