"""Every byte of every file is delivered, in an error, or reported as skipped: random bytes, cut anywhere."""

import bz2
import csv
import gzip
import io
import json
import lzma
import random
import re
from functools import partial

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import pullstream as ps
from adapters import files
from tests.adapters.files.reading.tables import write

BOM = b"\xef\xbb\xbf"

PIECES = [
    b"a", b"b", b"7", b"-1.5", b"x,y", b"1,2", b"1,2,3", b",", b",,", b'"q"', b'"', b'""', b'"a,b",c', b'"a""b",c',
    b"\n", b"\n", b"\n", b"\r\n", b"\r\n", b"\r", b"\0", BOM, b"\xff", b"\xc3", b"\xed\xa0\x80", b" ", b"\t", b"\x0b",
    b"\x1c", b"\x85", "\u2028".encode(), b"{}", b'{"a": 1}', b'{"a": 1, "b": "x"}', b'{"a": null}', b"[1]", b"null",
    b"true", b"NaN", b"1e999", b"{", b"}", b'{"a": 1} {"a": 2}', b'{"a":\n1}', b"x" * 70, b"\\", b"'", b"#", b"NA",
    b"\x1a",
]  # fmt: skip


def odd_bytes(seed):
    chance = random.Random(seed)
    count = chance.choice([0, 1, 2, 5, 20, 60])
    return b"".join(chance.choices(PIECES, k=count)) + chance.choice([b"", b"\n", b"\r\n", b"\r"])


def lines_of(data):
    lines = data.removeprefix(BOM).split(b"\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]


def got(source):
    return ps.run(ps.pipe(source, ps.collect()))


def outcome(make):
    everything = got(make(on_error="result"))
    some = []
    try:
        ps.run(ps.pipe(make(), ps.drain(some.append)))
    except files.FileReadError:
        failed = next(number for number, each in enumerate(everything) if isinstance(each, ps.Failed))
        assert repr(some) == repr(everything[:failed])
    else:
        assert repr(some) == repr(everything)
        assert not any(isinstance(each, ps.Failed) for each in everything)
    skipped = got(make(on_error="skip"))
    assert repr(skipped) == repr([each for each in everything if not isinstance(each, ps.Failed)])
    return everything


SEEDS = [range(12), *(pytest.param(range(at, at + 250), marks=pytest.mark.slow) for at in range(12, 2512, 250))]


@pytest.mark.parametrize("size", [7, 1 << 20])
@pytest.mark.parametrize("seeds", SEEDS, ids=str)
class TestRandomBytes:
    """A file made of pieces that have caused bugs in readers."""

    def test_bytes(self, seeds, size, put):
        for data in map(odd_bytes, seeds):
            path = put("a", data)
            assert b"".join(outcome(partial(files.read_bytes, path, block_size=size))) == data

    def test_text(self, seeds, size, put):
        for data in map(odd_bytes, seeds):
            found = outcome(partial(files.read_text, put("a.txt", data), block_size=size))
            found_lines = [each.value if isinstance(each, ps.Failed) else each.encode() for each in found]
            if all(len(line) <= 64 * size for line in lines_of(data)):
                assert found_lines == lines_of(data)

    def test_json_lines(self, seeds, size, put):
        for data in map(odd_bytes, seeds):
            found = outcome(partial(files.read_jsonl, put("a.jsonl", data), block_size=size))
            lines = [line for line in lines_of(data) if line.strip()]
            assert len(found) == len(lines)
            for line, each in zip(lines, found, strict=True):
                if isinstance(each, ps.Failed):
                    assert each.value.rstrip(b"\r") == line.rstrip(b"\r")
                else:
                    assert repr(json.loads(line)) == repr(each)

    @pytest.mark.sampled(2)
    @pytest.mark.parametrize("quoted", [False, True])
    def test_csv(self, seeds, size, quoted, put):
        options = {
            "schema": {"a": "string", "b": "string"},
            "parse_options": pa.csv.ParseOptions(newlines_in_values=quoted),
            "convert_options": pa.csv.ConvertOptions(strings_can_be_null=False),
            "as_": "tuples",
        }
        for data in map(odd_bytes, seeds):
            path = put("a.csv", b"a,b\n" + data)
            found = outcome(partial(files.read_csv, path, block_size=size, **options))
            rest = lines_of(b"a,b\n" + data)[1:]
            for each in found:
                check_row(each, rest, quoted=quoted)
            assert not b"".join(rest).strip()


OPEN = re.compile(rb'(?:(?:"(?:[^"]|"")*"(?:[^",\r][^,\r]*)?|[^",\r][^,\r]*)?[,\r])*+"(?:[^"]|"")*+')
"""Lines that end in a quoted value; a quote within an unquoted one is a part of it."""


def check_row(found, rest, *, quoted):
    while not rest[0].strip():
        rest.pop(0)
    lines = [rest.pop(0)]
    bad = found.value if isinstance(found, ps.Failed) else None
    # For a quote that is never closed, only its line is reported.
    while quoted and bad != lines[0] and OPEN.fullmatch(b"\n".join(lines)):
        lines.append(rest.pop(0))
    if bad is not None:
        # A row with line breaks is bad as a whole.
        while not quoted and len(lines) <= bad.count(b"\n"):
            lines.append(rest.pop(0))
        assert bad.replace(b"\r\n", b"\n").rstrip(b"\r") == b"\n".join(lines).rstrip(b"\r")
    else:
        # To pyarrow, a carriage return at the start is an empty row, which does not count.
        text = "\n".join(line.decode() for line in lines).lstrip("\r")
        source = io.StringIO(text, newline="")
        row = next(csv.reader(source))
        if further := source.read().strip("\r\n"):
            # If values may have line breaks, a carriage return outside of quotes ends a row.
            assert quoted
            rest.insert(0, further.encode())
        assert row == [value.replace("\r\n", "\n") for value in found]


@pytest.mark.parametrize("tries", [15, pytest.param(2000, marks=pytest.mark.slow)])
def test_rows_with_line_breaks_are_those_of_pyarrow(tries, put):
    """With any delimiter, quote and escape character, and with the edge of a block at any byte."""
    chance = random.Random(0)

    def field():
        # An escape character may be in a quoted value or not; another quote only within an unquoted one.
        pairs = [escape + char for char in (quote, escape, delimiter, "\n") if escape and char]
        if quote and chance.random() < 0.5:
            within = ["a", delimiter, "\n", "\r\n", quote * 2 * doubled, *pairs]
            return quote + "".join(chance.choices(within, k=3)) + quote
        return "".join(chance.choices(["", "a", "b7", f"a{quote}", *pairs], k=2))

    for _ in range(tries):
        quote, escape, delimiter = (chance.choice(each) for each in (['"', "'", "%", ""], ["\\", "^", ""], ",;-"))
        doubled = chance.random() < 0.5
        text = "".join(field() + delimiter + field() + chance.choice(["\n", "\r\n"]) for _ in range(4))
        chosen = {"delimiter": delimiter, "quote_char": quote or False, "escape_char": escape or False}
        options = {
            "read_options": pa.csv.ReadOptions(column_names=["a", "b"]),
            "parse_options": pa.csv.ParseOptions(**chosen, double_quote=doubled, newlines_in_values=True),
            "convert_options": pa.csv.ConvertOptions(column_types=dict.fromkeys("ab", pa.string())),
        }
        path = put("a.csv", text[: chance.choice([None, -1])])
        rows = pa.csv.read_csv(path, **options).to_pylist()
        for size in (*chance.sample(range(1, 30), 2), 1 << 20):
            assert got(files.read_csv(path, as_="dicts", block_size=size, **options)) == rows, (text, size)


def through(codec):
    def compress(data):
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, codec) as stream:
            stream.write(data)
        return out.getvalue().to_pybytes()

    return compress


COMPRESSORS = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, format=lzma.FORMAT_ALONE),
    "zst": through("zstd"),
    "lz4": through("lz4"),
    "br": through("brotli"),
}


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("tries", [15, pytest.param(2000, marks=pytest.mark.slow)])
def test_compressed_files(suffix, tries, put):
    """Concatenated streams are read; a truncated or empty stream, or data after a stream, is an error."""
    chance = random.Random(suffix)
    compress = COMPRESSORS[suffix]
    for number in range(tries):
        parts = [
            b"".join(b"%d\n" % chance.getrandbits(30) for _ in range(chance.choice([0, 1, 9, 9000]))) for _ in "abc"
        ]
        count = chance.choice([1, 1, 2, 3])
        ends = [0]
        made = b""
        for part in parts[:count]:
            made += compress(part)
            ends.append(len(made))
        how = ["whole", "cut", "behind", "zeros", "empty"][number % 5]
        if how == "cut":
            made = made[: chance.randrange(ends[-1])]
        elif how in ("behind", "zeros"):
            made += bytes(chance.randrange(1, 600)) if how == "zeros" else b"#" + chance.randbytes(chance.randrange(50))
        elif how == "empty":
            made = b""
        found = got(files.read_bytes(put(f"a.{suffix}", made), on_error="result"))
        whole = b"".join(parts[:count])
        data = b"".join(each for each in found if isinstance(each, bytes))
        if len(made) in ends[1:] and how in ("whole", "cut"):
            assert data == b"".join(parts[: ends.index(len(made))])
            assert all(isinstance(each, bytes) for each in found)
        else:
            assert isinstance(found[-1], ps.Failed), (how, len(made), ends)
            assert whole.startswith(data)
            if how in ("behind", "zeros") and suffix in ("gz", "bz2", "xz", "lzma"):
                assert data == whole


@pytest.mark.parametrize("kind", ["arrows", "arrow", "parquet"])
@pytest.mark.parametrize("tries", [20, pytest.param(2000, marks=pytest.mark.slow)])
def test_truncated_tables(kind, tries, put, folder):
    """An error after whole batches; only a stream may end between two batches."""
    path = folder / "whole"
    read = write(pa.table({"a": range(3000), "b": [str(number) * 3 for number in range(3000)]}), path, kind)
    data = path.read_bytes()
    chance = random.Random(kind)
    whole = got(read(path, as_="tuples"))
    assert len(whole) == 3000
    other = put("other", data)
    for number in range(tries):
        cut = chance.randrange(len(data)) if number else 0
        path = put("a", data[:cut])
        found = got(read([path, other], as_="tuples", on_error="result"))
        assert found[-3000:] == whole, "the next file is read"
        found = found[:-3000]
        rows = found[:-1] if isinstance(found[-1], ps.Failed) else found
        if rows is not found:
            message = "is not a readable Parquet file: |is not readable Arrow IPC|is empty, and so not Arrow IPC"
            assert re.match(f"{path}: ({message})", str(found[-1].error))
            assert found[-1].value == str(path)
        assert [row[0] for row in rows] == list(range(len(rows)))
        if rows is found:
            # A stream may end where a message begins.
            assert kind == "arrows"
            assert data[cut : cut + 4] == b"\xff\xff\xff\xff"
    for behind in (b"x", b"\0" * 64, data):
        found = got(read(put("a", data + behind), as_="tuples", on_error="result"))
        assert isinstance(found[-1], ps.Failed), (kind, behind[:4], len(found))


@pytest.mark.sampled
@pytest.mark.parametrize("lines", [1, 3, 500])
@pytest.mark.parametrize(
    "read", [files.read_text, files.read_jsonl, partial(files.read_jsonl, as_="tuples"), files.read_csv]
)
def test_a_line_that_is_too_long(read, lines, put):
    row = b'{"n": %d}\n' if getattr(read, "func", read) is files.read_jsonl else b"%d\n"
    head = b"n\n" if read is files.read_csv else b""
    rows = [row % number for number in range(lines)]
    long = row.replace(b"%d", b"7" * 70_000)
    paths = [put("a", head + b"".join([*rows, long, *rows])), put("b", head + b"".join(rows))]
    found = outcome(partial(read, paths, block_size=512))
    bad = [number for number, each in enumerate(found) if isinstance(each, ps.Failed)]
    assert bad == [lines]
    assert len(found) == 3 * lines + 1
    line = lines + 1 + bool(head)
    assert str(found[lines].error).endswith(f"a:{line}: a line is longer than 32,768 bytes: raise block_size=")


@pytest.mark.parametrize("opens", [0, 1, 500, 999])
def test_a_quote_that_is_never_closed(opens, put):
    """Its value might be the rest of the file; its line is skipped, and the following lines are rows again."""
    for size in (100, 1 << 20):
        rows = [b"%d,x\n" % number for number in range(1000)]
        rows[opens] = b'%d,"x\n' % opens
        path = put("a.csv", b"a,b\n" + b"".join(rows) + b"1000,x\\")
        parse = pa.csv.ParseOptions(newlines_in_values=True, escape_char="\\")
        found = outcome(partial(files.read_csv, path, parse_options=parse, as_="tuples", block_size=size))
        assert len(found) == 1001
        assert found[opens].value == rows[opens].rstrip()
        assert f"a.csv:{opens + 2}: a quote is " in str(found[opens].error)
