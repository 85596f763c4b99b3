"""Bad input: an error names the file, the line if there is one, and the fix; or the policy handles it."""

import gzip
import json
import os
import pickle
import zipfile
import zlib
from decimal import Decimal
from functools import partial

import fsspec
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import files
from adapters.files.reading import parsing
from tests.adapters.files.failing import STEPS, FailingReads
from tests.pullstream.common import until_failure

failing = partial(until_failure, check=True)


def parts(values):
    return [(value.value, value.error.line) if isinstance(value, ps.Failed) else value for value in values]


WORTH, WIDE = Decimal("1.50"), pa.decimal128(22, 2)
INT_X = {"schema": {"x": "int64"}}
PACKED = gzip.compress(b"x\n1\n", mtime=0)

NO_UTF8 = "is not valid UTF-8: byte 4 of the line is 0xe9; set encoding= (or set on_error=)"
CHANGED = "JSON parse error: Column(/x) changed from number to string; "
BARE_RETURNS = "has lines that end in a bare carriage return (old Mac style), which would be lost: convert them"
TUPLES = {"as_": "tuples"}

MESSAGES = [
    (
        "csv",
        "x,y\n1,2\n3,4\n5,6,7\n8,9\n",
        TUPLES,
        [(1, 2), (3, 4)],
        4,
        "CSV parse error: Expected 2 columns, got 3: 5,6,7; check delimiter and quotes (or set on_error=)",
    ),
    (
        "csv",
        "x\n1\n2\n3\n4.5\n",
        {"block_size": 4, **TUPLES},
        [(1,), (2,), (3,)],
        5,
        (
            "; name a type in schema= that fits all values: types that it does not name come from the first block of "
            "the first file (or set on_error=)"
        ),
    ),
    ("csv", f"x\n1\n{'9a' * 100_000}\n", INT_X, [(1,)], 3, "invalid value '9a9a9a"),
    *(("csv", text, {}, [], 1, BARE_RETURNS) for text in (b"a,b\r1,2\r3,4\r", b"a,b\r1,2\n3,4\n", b"\r\ra,b\r1,2\r")),
    ("csv", b"skipped\ra,b\n1,2\n", {"read_options": pc.ReadOptions(skip_rows=1)}, [], 1, BARE_RETURNS),
    ("csv", "x,x\n1,2\n", {}, [], None, "has several columns with the same name: 'x'"),
    ("text", b'"one"\n"tw\xe9o"\n"three"\n', {}, ['"one"'], 2, NO_UTF8),
    ("jsonl", b'"one"\n"tw\xe9o"\n"three"\n', {}, ["one"], 2, NO_UTF8),
    (
        "jsonl",
        b'{"x": "one"}\n{"x": "\xe9"}\n',
        TUPLES,
        [("one",)],
        2,
        "is not valid UTF-8: byte 8 of the line is 0xe9; set",
    ),
    ("csv", PACKED, {}, [], None, "its header has null characters; it begins like a gzip file: set compression='gzip'"),
    ("jsonl", PACKED, {}, [], 1, "is 0x8b; it begins like a gzip file: set compression='gzip'"),
    ("jsonl", '{"x": 1}\n' * 500 + '{"x": "1"}\n', {**TUPLES, **INT_X}, [(1,)] * 500, 501, f":501: {CHANGED}"),
    ("jsonl", '{"x": 1}\n{"x": "1"}\n', TUPLES, [], None, f"types do not match: {CHANGED}give schema="),
    ("jsonl", '{"a": 1}\nnothing\n', {}, [{"a": 1}], 2, "is not valid JSON: Expecting value, at column 1"),
    ("jsonl", '{"x": 1}\n null\n', {**TUPLES, **INT_X}, [(1,)], 2, "is null, and not an object"),
    ("jsonl", ' null\n{"x": 1}\n', TUPLES, [], 1, "is null, and not an object"),
    ("jsonl", '{"x": 1}{"x": 2}\n', TUPLES, [], 1, "has more than one value; each line must be one whole JSON value"),
    ("jsonl", '{"x": 1}{"x": 2}\n\n{"x": 3}\n', TUPLES, [], 1, "has more than one value"),
    ("jsonl", ' {"x": 1} \n\n\t{"x": 2} {"x": 3}\n', TUPLES, [(1,)], 3, "has more than one value"),
    ("text", b"one\ntw\xc3\xb6\n", {"encoding": "ascii"}, ["one"], 2, "is not valid in its encoding"),
]


@pytest.mark.parametrize(("kind", "text", "options", "before", "line", "message"), MESSAGES)
def test_messages(kind, text, options, before, line, message, put):  # noqa: PLR0917
    path = put("a", text)
    got, error = failing(files.FileReadError, getattr(files, f"read_{kind}")(path, **options))
    assert got == before
    assert (error.path, error.line) == (str(path), line)
    assert str(error).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert message in str(error)
    assert len(error.problem) < 500
    assert "ParseOptions" not in str(error)
    assert f"read_{kind}, composed at" in error.__notes__[0]


BAD_CSV = b"x,y\r\n1,a\r\n\r\n2,b,c\r\nq,d\r\n3\r\n4,\xff\r\n5,e\r\n"


@pytest.mark.parametrize("size", [1, 8, 12, 4 << 20])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BAD_CSV, [(1, "a"), (b"2,b,c", 4), (b"q,d", 5), (b"3", 6), (b"4,\xff", 7), (5, "e")]),
        ('x,y\n1,"a\n2,b\n3,c\n4,"d\n', [(b'1,"a', 2), (2, "b"), (3, "c"), (b'4,"d', 5)]),
        ('x,y\n1,"a""\n\n\n' + "2,b\n" * 20, [(b'1,"a""', 2), *[(2, "b")] * 20]),
        ('x,y\n1,"a\n\n5,b\n7,c"\r\n2,"d"\n', [(b'1,"a\n\n5,b\n7,c"', 2), (2, "d")]),
        ('x,y\n1,"a ""\n7,b"","c\n"\n2,d\n3,"e', [(b'1,"a ""', 2), (b'7,b"","c\n"', 3), (2, "d"), (b'3,"e', 6)]),
        ("x,y\n1,a\n   \n2,b\n3\n4,d\n", [(1, "a"), (2, "b"), (b"3", 5), (4, "d")]),
        ('x,y\n1,"a^"\n2,b"\n3,c^\nd\n4,^"e', [(b'1,"a^"\n2,b"', 2), (b"3,c^\nd", 4), (4, '"e')]),
    ],
    ids=[
        "every kind",
        "open quotes",
        "an open quote before empty lines",
        "line breaks",
        "both",
        "white space",
        "escapes",
    ],
)
def test_bad_rows_are_found_with_their_lines(text, expected, size, put, read):
    """Too many fields, too few, not a number, not UTF-8, an open quote: at every block size, only these rows are bad.

    A row with line breaks is bad as a whole: none of its lines is a row.
    """
    options = {"parse_options": pc.ParseOptions(escape_char="^" in str(text) and "^"), "block_size": size}
    found = read(files.read_csv(put("a.csv", text), as_="tuples", **INT_X, on_error="result", **options))
    assert parts(found) == expected
    assert not [bad for bad in found if isinstance(bad, ps.Failed) and "on_error" in str(bad.error)], "it is set"


@pytest.mark.parametrize(("encoding", "bad"), [("cp1252", b"\x81"), ("shift-jis", b"\x81"), ("utf-16", b"\x00\xd8")])
def test_a_line_that_is_not_valid_in_its_encoding(encoding, bad, put, read):
    """Only this line is bad: the lines around it arrive."""
    first, second, third = (
        text.encode(encoding).removeprefix("".encode(encoding)) for text in ("1\n2\n3", "\n4\n", "\n")
    )
    path = put("a", "".encode(encoding) + first + bad + second + bad + third)
    for size in (2, 1 << 20):
        options = {"encoding": encoding, "block_size": size, "on_error": "result"}
        got = read(files.read_text(path, **options))
        assert parts(got) == ["1", "2", (b"3\xc0", 3), "4", (b"\xc0", 5)]
        assert "a:3: is not valid in its encoding; set encoding=" in str(got[2].error)
        assert parts(read(files.read_jsonl(path, **options))) == [1, 2, (b"3\xc0", 3), 4, (b"\xc0", 5)]
        options |= {"as_": "tuples", "schema": {"1": "int64"}}
        assert parts(read(files.read_csv(path, **options))) == [(2,), (b"3\xc0", 3), (4,), (b"\xc0", 5)]


@pytest.mark.parametrize(("within", "whole"), [(20, True), (40, False)])
def test_a_value_of_many_lines_longer_than_eight_blocks(within, whole, put, read):
    """The search for its end stops, so each of its lines is a row, unless values may have line breaks."""
    value = "6,z\n" * within
    path = put("a.csv", f'x,y\n1,"{value}"\n2,b\n')
    options = {"as_": "tuples", **INT_X, "block_size": 16, "on_error": "result"}
    row = f'1,"{value}"'.encode()
    lines = [(b'1,"6,z', 2), *[(6, "z")] * (within - 1), (b'"', within + 2)]
    got = read(files.read_csv(path, **options))
    assert parts(got) == [*([(row, 2)] if whole else lines), (2, "b")]
    assert "need parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)" in str(got[0].error)
    allowed = pc.ParseOptions(newlines_in_values=True)
    assert read(files.read_csv(path, parse_options=allowed, **options)) == [(1, value), (2, "b")]


async def test_bad_rows_are_skipped_and_counted(put):
    path = put("a.csv", BAD_CSV)
    pipeline = ps.pipe(files.read_csv(path, as_="tuples", **INT_X, on_error="skip"), ps.collect())
    async with pipeline.open() as running:
        assert await running.result() == [(1, "a"), (5, "e")]
        assert sum(counter.skipped for counter in running.counters()) == 4


@pytest.mark.parametrize("size", [4, 4 << 20])
def test_an_error_names_line_and_column_once(size, put):
    path = put("a.csv", "x,y,z\n" + "1,2,3\n" * 500 + "4,In CSV column #1: Row #7: 5,6\n")
    source = files.read_csv(path, columns=["z", "y"], schema={"z": "int64", "y": "int64"}, block_size=size)

    _, error = failing(files.FileReadError, source)

    wrong = "invalid value 'In CSV column #1: Row #7: 5'"
    assert str(error).startswith(f"{path}:502: the column 'y': CSV conversion error to int64: {wrong}; ")
    assert error.__cause__ is None


@pytest.mark.parametrize("size", [40, 4 << 20])
def test_a_function_for_bad_rows_sees_them_in_order_and_once(size, put, read):
    seen = []

    def handle(row):
        seen.append((row.number, row.text))
        return "skip"

    path = put("a.csv", "x,y\n" + "".join(f"{n}\n" if n % 10 == 0 else "1,2\n" for n in range(1, 200)))
    parse = pc.ParseOptions(invalid_row_handler=handle)
    assert len(read(files.read_csv(path, parse_options=parse, block_size=size))) == 180
    assert seen == [(None, str(n)) for n in range(10, 200, 10)]


@pytest.mark.parametrize("front", ["\n" * 20, "nonsense\n[1]\n\n7\n"])
def test_the_first_objects_set_the_columns(front, put, read):
    """Blocks without objects before them do not, and no later row is lost."""
    path = put("a.jsonl", front + '{"x": 1}\n{"x": 2}\n')
    for size in (4, 4 << 20):
        assert read(files.read_jsonl(path, as_="tuples", block_size=size, on_error="skip")) == [(1,), (2,)]


@pytest.mark.parametrize("count", [0, 1, 5_000, 60_000])
def test_lines_before_broken_gzip_data_arrive(count, put):
    """Also rows of empty fields, which tell no types, before any other row."""
    lines = [str(n * 7919) for n in range(count)]
    for read, head, body, got in (
        (files.read_text, [], lines, lines),
        (partial(files.read_csv, delimiter="\t", as_="tuples"), ["x\ty"], ["\t", ""] * count, [("", "")] * count),
    ):
        press = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
        good = press.compress("".join(f"{line}\n" for line in head + body).encode()) + press.flush(zlib.Z_FULL_FLUSH)
        path = put("a.gz", good + b"\xff" * 100)
        before, error = failing(files.FileReadError, read(path))
        assert before == got
        assert str(error).startswith(f"{path}: cannot be decompressed as gzip: ")


def test_a_parquet_file_with_a_broken_middle(folder, put):
    good = folder / "good.parquet"
    table = pa.table({"x": list(range(300))})
    pq.write_table(table, good, row_group_size=100, compression="none", use_dictionary=False)
    data = bytearray(good.read_bytes())
    begin = pq.ParquetFile(good).metadata.row_group(1).column(0).data_page_offset
    data[begin : begin + 20] = b"\xff" * 20

    got, error = failing(files.FileReadError, files.read_parquet(put("bad.parquet", bytes(data)), as_="tuples"))

    assert got == [(n,) for n in range(100)]
    assert "cannot be read, in its row group 2 of 3: " in str(error)


@pytest.mark.parametrize("delimiter", ["\t", ";"])
def test_a_file_with_another_delimiter(delimiter, put, read):
    """It would be read as a single column; both fixes in the error work."""
    path = put("a.tsv", f"x{delimiter}y\n1{delimiter}2\n")

    for options in ({}, {"columns": ["x"]}, {"time": "x"}, {"parse_options": pc.ParseOptions(newlines_in_values=True)}):
        got, error = failing(files.FileReadError, files.read_csv(path, **options))
        assert got == []
        assert str(error).startswith(f"{path}: has a single column, {f'x{delimiter}y'!r}: the delimiter seems to be ")
        assert f"Set delimiter={delimiter!r}, or delimiter=',' if it is one column" in str(error)
    assert read(files.read_csv(path, as_="tuples", delimiter=delimiter)) == [(1, 2)]
    assert read(files.read_csv(path, as_="tuples", delimiter=",")) == [(f"1{delimiter}2",)]


def test_pyarrow_prints_nothing_about_a_bad_row(put, read, capfd):
    """Copied (as with delimiter=) or pickled parse options call a handler that is None."""
    source = files.read_csv(put("a.csv", "x;y\n1;2\n3\n"), time="x", delimiter=";", on_error="skip")
    assert read(source, timed=True) == read(pickle.loads(pickle.dumps(source)), timed=True) == [(1, (1, 2))]
    assert repr(source).startswith("read_csv(")
    assert capfd.readouterr().err == ""


def test_files_with_different_columns(put, read):
    paths = [put("a.csv", "x,y\n1,2\n"), put("b.csv", "z,x\n3,4\n")]

    got, error = failing(files.FileReadError, files.read_csv(paths, as_="tuples"))

    assert got == [(1, 2)]
    message = f"{paths[1]}: has no column 'y' and has additional columns: 'z', unlike {paths[0]} before it"
    assert str(error).startswith(message)
    assert "columns=[...]" in str(error)
    assert read(files.read_csv(paths, as_="tuples", columns=["x"])) == [(1,), (4,)]
    assert read(files.read_csv([paths[0], put("c.csv", "y,x\n5,6\n")], as_="tuples")) == [(1, 2), (6, 5)]


@pytest.mark.parametrize(
    ("given", "advice", "schema", "expected"),
    [
        (([1], [1.5]), "Give one type for all files: schema={'x': 'double'}", "double", [1.0, 1.5]),
        (([2**40], pa.array([1], "int8")), "schema={'x': 'int64'}", "int64", [2**40, 1]),
        (([1], ["a"]), "schema={'x': 'string'}", "string", ["1", "a"]),
        (([True], [2]), "schema={'x': 'string'}", "string", ["true", "2"]),
        (([2**60], [WORTH]), "schema= with pyarrow's decimal128(22, 2) for 'x'", WIDE, [2**60, WORTH]),
        (([Decimal("1.5")], [WORTH]), "pyarrow's decimal128(3, 2) for 'x'", pa.decimal128(3, 2), [WORTH, WORTH]),
        (
            (pa.array([Decimal("1.5")], pa.decimal128(38, 1)), pa.array([WORTH], pa.decimal128(38, 2))),
            "schema= with pyarrow's decimal128(38, 2) for 'x'",
            pa.decimal128(38, 2),
            [WORTH, WORTH],
        ),
        (([[1]], [[1.5]]), "pyarrow's list<element: double> for 'x'", pa.list_(pa.float64()), [[1.0], [1.5]]),
        (([[1]], ["a"]), "No type holds both, so read each kind of file with its own source", None, None),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_parquet_files_with_different_types(folder, read, *, given, advice, schema, expected, order):
    """The error names both types, and a type for the values of both, in either order; schema= casts to it."""
    for name, values in zip("ab", given[::order], strict=True):
        pq.write_table(pa.table({"x": values}), folder / f"{name}.parquet")
    before, kind = (pq.read_schema(folder / f"{name}.parquet").field("x").type for name in "ab")

    _, error = failing(files.FileReadError, files.read_parquet(folder))

    assert f"b.parquet: the column 'x' is {kind}, but {before} in " in str(error)
    assert str(error).endswith(advice)
    if schema is not None:
        cast = read(files.read_parquet(folder, as_="tuples", schema={"x": schema}))
        assert cast == [(value,) for value in expected[::order]]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "given",
    [
        [[None, None], [1, None], [None, None]],
        [[1, None], [None, None], [2, 2]],
        [[None, None], ["tea", "tea"], [None, None]],
        [["tea", "tea"], [None, None]],
        [[[], []], [[1], None], [None, [None]]],
        [[{"a": None}], [{"a": "x"}], [None]],
        [[None], [None]],
    ],
)
def test_an_all_null_column_has_the_type_of_other_files(given, kind, folder, read):
    """Files from the writers, one for each day; some, even the first, have only nulls."""
    rows = [{"day": day, "name": "n", "x": x} for day, column in enumerate(given) for x in column]
    target = str(folder / f"{{time}}.{kind}")
    source = ps.values(rows, time=lambda row: row["day"])
    ps.run(ps.pipe(source, getattr(files, f"write_{kind}")(target)))
    reader = getattr(files, f"read_{kind}")

    assert read(reader(folder, as_="dicts", time="day"), timed=True) == [(row["day"], row) for row in rows]
    assert read(reader(folder, as_="tuples", columns=["x"])) == [(row["x"],) for row in rows]
    types = [str(batch.schema.field("x").type) for batch in read(reader(folder, as_="batches"))]
    assert types[-1] == max(types, key=lambda kind: "null" not in kind), "a known type is kept"


def test_the_type_of_a_column_with_nulls_first(folder):
    for name, values in {"a": pa.nulls(1), "b": [1], "c": [1.5]}.items():
        pq.write_table(pa.table({"x": values}), folder / f"{name}.parquet")

    got, error = failing(files.FileReadError, files.read_parquet(folder, as_="tuples"))

    assert got == [(None,), (1,)]
    assert f"c.parquet: the column 'x' is double, but int64 in {folder}/b.parquet" in str(error)
    _, error = failing(files.FileReadError, files.read_parquet(folder / "c.parquet", schema={"x": "int32"}))
    assert "does not match schema=" in str(error)


def test_json_of_other_types_and_members(put, read):
    path = put("a.jsonl", '{"x": 1}\n{"x": "2"}\n{"x": 3, "y": 4}\n[5]\n{"x": 6}\n')

    for size, third in ((1, (b'{"x": 3, "y": 4}', 3)), (4 << 20, (3, 4))):
        got = read(files.read_jsonl(path, as_="tuples", schema={"x": "int64"}, block_size=size, on_error="result"))
        rest = (None,) if third == (3, 4) else ()
        assert parts(got) == [(1, *rest), (b'{"x": "2"}', 2), third, (b"[5]", 4), (6, *rest)]


@pytest.mark.parametrize("on_error", ["fail", "skip"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_missing_columns(kind, on_error, put, folder):
    write = {"csv": pc.write_csv, "parquet": pq.write_table, "arrow": pa.feather.write_feather}[kind]
    first, path = folder / f"0.{kind}", folder / f"a.{kind}"
    write(pa.table({"x": [1], "y": [2], "z": [3]}), first)
    write(pa.table({"x": [1], "y": [2]}), path)
    read = getattr(files, f"read_{kind}")
    for option in ({"columns": ["z"]}, {"schema": {"z": "int64"}}, {"time": "z"}):
        for before in ([], [first]):
            got, error = failing(files.NoColumnError, read([*before, path], **option, on_error=on_error))
            named = ", which time= names" if "time" in option else ""
            assert str(error) == f"{path}: has no column 'z'{named}; it has 'x', 'y'"
            assert len(got) == len(before)


NAN = float("nan")


@pytest.mark.parametrize(
    ("time", "line", "at", "why"),
    [
        ("n", '{"x": 2, "y": 3}', 2, "it has no member 'n', which time= names; it has 'x', 'y'; check time="),
        ("n", '{"n": null}', 2, "'n', which time= names, is null"),
        ("n", "[1]", 2, "it is not an object, but time= names a member, 'n'"),
        (lambda row: [row["n"]], "", 1, "[1] (list) is mutable, which a time must not be"),
        (lambda row: (row["n"], NAN), "", 1, "NaN cannot be compared with"),
        (lambda row: row["n"] if row["n"] < 2 else [2], '{"n": 2}', 2, "[2] (list)"),
        (lambda row: 1.0 if row["n"] < 2 else NAN, '{"n": 2}', 2, "NaN"),
        (files.path_time(lambda _: []), "", None, "[] (list)"),
        (files.path_time(lambda _: NAN), "", None, "NaN"),
    ],
)
def test_a_value_without_a_valid_time(time, line, at, why, put, read):  # noqa: PLR0917
    path = put("a.jsonl", f'{{"n": 1}}\n{line}\n')
    got, error = failing(files.FileReadError, files.read_jsonl(path, time=time))
    before = [{"n": 1}] if at == 2 else []
    assert got == before
    assert (f"{path}:{at}: has a value without a time: {why}" if at else f"{path}: has no time: {why}") in str(error)
    assert at is None or read(files.read_jsonl(path, time=time, on_error="skip")) == before


@pytest.mark.parametrize("as_", ["rows", "dicts", "batches"])
def test_an_error_names_the_line_out_of_order(as_, put, read):
    rows = [1, 2, None, 2, 1, 3]
    text = "".join(json.dumps({"day": day}) + "\n" for day in rows)
    path = put("a.jsonl", text)
    source = files.read_jsonl(path, time="day", as_=as_, on_error="skip")
    got, error = failing(ps.errors.CapabilityError, source)
    # Rows before it arrive, and none after it (R8).
    days = {"rows": lambda row: [row.day], "dicts": lambda row: [row["day"]], "batches": lambda batch: batch["day"]}
    assert [int(str(day)) for value in got for day in days[as_](value)] == [1, 2, 2]
    assert str(error).startswith(f"{path}:5: goes back in time, to 1 after 2. Sort the input, or read it without ")
    below = ps.stamp(lambda row: row["day"] or 2, lateness=1)
    assert len(read(ps.pipe(files.read_jsonl(path), below))) == len(rows)


def test_a_folder_with_files_of_two_formats(put, folder):
    sales = pa.table({"day": [1], "item": ["tea"]})
    put("in/a.csv", "day,item\n1,tea\n")
    pq.write_table(sales, folder / "in/b.parquet")
    got, error = failing(files.FileReadError, files.read_csv(folder / "in", time="day"))
    assert [tuple(row) for row in got] == [(1, "tea")]
    path = folder / "in/b.parquet"
    message = "is not CSV in this encoding: its header has null characters; its name ends in .parquet: use read_parquet"
    assert str(error) == f"{path}: {message}, or a pattern that leaves it out"
    _, error = failing(files.FileReadError, files.read_csv(put("wide.csv", "a,b\n1,2\n".encode("utf-16-le"))))
    assert "null characters; check encoding=" in str(error)
    _, error = failing(files.FileReadError, files.read_arrow(folder / "in/a.csv"))
    assert "is not readable Arrow IPC; its name ends in .csv: use read_csv" in str(error)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("nothing.csv", "nothing.csv: does not exist, looked for as {folder}/nothing.csv"),
        ("{folder}/nothing.csv", "{folder}/nothing.csv: does not exist"),
        ("file://{folder}/nothing.csv", "file://{folder}/nothing.csv: does not exist"),
        ("*.csv", "*.csv: matches no file, looked for as {folder}/*.csv; check the pattern, or wait"),
        ("{folder}/sub", "{folder}/sub: is a folder without files"),
        ("{folder}/s*", "matches only folders; to read the files in them, write {folder}/s*/*"),
    ],
)
def test_a_missing_file(given, message, folder, put, monkeypatch):
    """A relative path is shown with its folder, an absolute path once."""
    monkeypatch.chdir(folder)
    put("sub/.hidden", "x")
    put("sub/deep/_part", "x")
    got, error = failing(files.NoFilesError, files.read_text(given.format(folder=folder)))
    assert got == []
    assert message.format(folder=folder) in str(error)
    assert str(error).count(str(folder)) <= 2


def test_all_files_of_a_folder(put, folder, read):
    for name in ("b/2", "a", "b/1", "b/.x", "_SUCCESS", "c.part", "d.tmp", "_day=1/x"):
        put(f"in/{name}", f"{name}\n")
    assert read(files.read_text(folder / "in")) == ["_day=1/x", "a", "b/1", "b/2"]
    assert read(files.read_text(str(folder / "in" / "*"))) == ["a"]
    assert read(files.read_text([folder / "in/c.part", folder / "in/b", folder / "in/b/*"])) == ["c.part", "b/1", "b/2"]


@pytest.mark.parametrize("store", ["file", "memory"])
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("**", ["_day=1/x", "a", "b/1"]),
        ("*/*", ["_day=1/x", "b/1"]),
        ("**/[x1]", ["_day=1/x", "b/1"]),
        ("_day=*/*", ["_day=1/x"]),
        ("_*/x", ["_day=1/x", "_tmp/x"]),
        (".*/**", [".git/x"]),
        ("*.tmp", ["d.tmp"]),
        ("**/*~", ["b/2~"]),
        ("_tmp/*", ["_tmp/x"]),
    ],
)
def test_a_pattern_may_name_hidden_files(pattern, found, store, tmp_path, read):
    """`**` leaves out folders of unfinished files, such as Spark's `_temporary`."""
    fs = fsspec.filesystem(store, auto_mkdir=True)
    for name in ("a", "b/1", "b/2~", "b/.y", "_tmp/x", "_day=1/x", "_day=1/.x", ".git/x", "d.tmp"):
        fs.pipe(f"{tmp_path}/in/{name}", f"{name}\n".encode())
    assert read(files.read_text(f"{tmp_path}/in/{pattern}", filesystem=fs)) == found


def test_a_file_that_vanishes_before_it_is_read(put):
    paths = [put("a", "one\n"), put("b", "two\n")]
    source = ps.pipe(files.read_text(paths, on_error="skip"), ps.tap(lambda _: paths[1].unlink()))

    got, error = failing(files.FileChangedError, source, limit=1)

    assert got == ["one"]
    assert str(error) == f"{paths[1]}: no longer exists: keep files until they have been read"


@pytest.mark.parametrize("options", [{"on_error": "skip"}, {"as_": "tuples"}])
def test_a_file_truncated_while_it_is_read(options, put):
    """All lines before its new end arrive, including blocks read ahead; then an error, whatever the policy."""
    head = "n\n" if "as_" in options else ""
    path = put("a", head + f"{'1' * 19}\n" * 50_000)
    cut = iter([lambda: os.truncate(path, len(head) + 500_000)])
    source = (files.read_csv if head else files.read_text)(path, block_size=5000, **options)

    got, error = failing(files.FileChangedError, ps.pipe(source, ps.tap(lambda _: next(cut, int)())))

    assert len(got) == 25_000
    if not head:
        assert "had 1,000,000 bytes, but ended after 500,000: it was truncated while it was read" in str(error)


@pytest.mark.parametrize("operation", ["open to read", "read a part", "close after reading"])
def test_file_system_errors_ignore_the_policy(operation, put):
    readers = {"a": files.read_text, "b.gz": files.read_text, "c": files.read_parquet, "d": files.read_arrow}
    for name in [*readers][: 2 if "close" in operation else 4]:
        path = put(name, "x\n" * 100)
        STEPS.reset({operation})
        _, error = failing(OSError, readers[name](path, filesystem=FailingReads(), on_error="skip"))
        assert str(error).endswith(operation)
        assert f"reading {path}" in error.__notes__


def test_archives(folder, put, read, monkeypatch):
    _, error = failing(files.NoFilesError, files.read_text(f"zip://*.txt::{folder}/no.zip"))
    assert "no.zip: does not exist" in str(error)
    put("bad.zip", "no archive")
    _, error = failing(files.FileReadError, files.read_text(f"zip://*.txt::{folder}/bad.zip"))
    assert "bad.zip: cannot be opened: the file is not a zip archive" in str(error)
    with zipfile.ZipFile(folder / "good.zip", "w") as archive:
        archive.writestr("2026-01-02.txt", "two\n")
        archive.writestr("2026-01-01.txt", "one\n")
        archive.writestr("sub/x.csv", "x\n1\n")
    source = files.read_text(f"zip://*.txt::{folder}/good.zip", time=files.name_time("[0-9-]{10}"))
    assert read(source, timed=True) == [("2026-01-01", "one"), ("2026-01-02", "two")]
    # In a chained URL a part with a dot is a path, even without a folder.
    monkeypatch.chdir(folder)
    assert read(files.read_text("zip://sub/*.csv::good.zip")) == ["x", "1"]
    with pytest.raises(ps.CompositionError, match="fsspec has no file system for nosuch://"):
        files.read_text("zip://*.txt::nosuch")


def test_urls(read):
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
    ("function", "given", "options", "message"),
    [
        (files.read_text, 3, {}, "needs a path or a list of paths, but got 3"),
        (files.read_text, [], {}, "got an empty list of paths"),
        (files.read_text, [b"x"], {}, "got b'x', which is not a path"),
        (files.read_text, "", {}, "got '', which is not a path"),
        (files.read_text, "nosuch://x", {}, "fsspec has no file system for nosuch://"),
        (files.read_text, "x", {"encoding": "utf-9"}, "got encoding='utf-9', which Python does not support"),
        (files.read_text, "x", {"encoding": "rot13"}, "got encoding='rot13', which Python does not support for text"),
        (files.read_csv, "x", {"read_options": pc.ReadOptions(encoding="?")}, "got encoding='?', which Python does"),
        (files.read_text, "x", {"compression": "rar"}, "got compression='rar': it must be 'infer' (by the suffix)"),
        (files.read_text, "x", {"folow": True}, "does not have the option folow="),
        (files.read_text, "x", {"every": 3}, "got every=3, which needs follow=True or available=True"),
        (files.read_text, "x", {"every": 0}, "needs a positive number of seconds for its argument 'every'"),
        (files.read_text, "x", {"available": True, "follow": True}, "waits for new files, and available=True, which"),
        (files.read_text, "x", {"block_size": 0}, "needs a whole number of at least 1 for its argument 'block_size'"),
        (files.read_text, "x", {"time": 3}, "needs a callable for its argument 'time'"),
        (files.read_text, "x", {"on_error": "ignore"}, "got on_error='ignore'"),
        (files.read_csv, "x", {"as_": "lists"}, "got as_='lists'"),
        (files.read_csv, "x", {"columns": "ab"}, "needs columns= to be a list of distinct column names"),
        (files.read_csv, "x", {"columns": ["a"], "time": "b"}, "got time='b', which is not among the columns ('a',)"),
        (files.read_csv, "x", {"schema": {"a": "number"}}, "use a mapping of column names to Arrow types"),
        (
            files.read_csv,
            "x",
            {"parse_options": {}},
            "needs a pyarrow.csv.ParseOptions for its argument 'parse_options'",
        ),
        (files.read_csv, "x", {"delimiter": ", "}, "got delimiter=', '"),
        (files.read_jsonl, "x", {"schema": {"a": "int64"}}, "got schema=, which does not apply to dicts"),
        *(
            (files.read_csv, path, {}, "which is JSON Lines: use read_jsonl")
            for path in ("x.jsonl", "in/*.ndjson", "x.jsonl.gz", ["a.csv", "b.jsonl"])
        ),
        (files.name_time, "(", {}, "needs a regular expression: '('"),
        (files.path_time, "x", {}, "needs a callable for its argument 'function'"),
    ],
)
def test_arguments_refused_when_composing(function, given, options, message):
    with pytest.raises(ps.CompositionError) as caught:
        function(given, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("path", ["x.jsonl.csv", "jsonl", "x.jsonl/*", "x.jsonl.csv.gz"])
def test_names_that_only_resemble_json_lines(path):
    files.read_csv(path)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["not a number", "too many", "a quote"])
@pytest.mark.parametrize("every", [2, 7, 100, 1])
def test_bad_rows_are_found_with_few_parses(kind, every, put, read, monkeypatch):
    row = {"not a number": "%d,x%d\n", "too many": "%d,%d,7\n", "a quote": '%d,"%d\n'}[kind]
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
