"""Refusals of the writing sinks: arguments when composing, values and names in a run."""

import datetime as dt
from collections import defaultdict
from typing import NamedTuple

import pyarrow as pa
import pytest

import pullstream as ps
from adapters import files

from .kit import content, written


class Sale(NamedTuple):
    shop: str
    n: int


@pytest.mark.parametrize(
    ("write", "target", "options", "message"),
    [
        *(
            (files.write_jsonl, target, {}, "")
            for target in ("", "{day}.jsonl", "{time}{day}.jsonl", "{}.jsonl", "{time", "{time:{width}}", "{key}", 7)
        ),
        (files.write_jsonl, "out/", {}, "got the target 'out/', which does not name a file"),
        (files.write_text, "a\0{time}", {}, "which does not name a file"),
        (files.write_text, "all.txt", {"append": True}, "does not have the option append=. It has compression="),
        (files.write_text, "{time}/../all.txt", {}, "after a field leads out of the folder that the field names"),
        (files.write_text, "{{{time}}}/a{key}/..", {"key": len}, "leads out of the folder that the field names"),
        (files.write_text, "nosuch://{time}", {}, "fsspec has no file system for nosuch://"),
        (files.write_text, "memory://all.txt", {}, "cannot grow"),
        *((files.write_jsonl, t, {"key": str}, "has an empty part") for t in ("{key:/>3}", "{key:>3/}", "{key:a//b}")),
        (files.write_text, "{time}", {"key": len}, ""),
        (files.write_text, "{key}{time}", {}, ""),
        (files.write_text, "{key}", {"key": "column"}, ""),
        (files.write_csv, "{key}", {"key": 7}, ""),
        (files.write_csv, "{time}", {"open_files": 0}, ""),
        *((files.write_text, "{time}", {"manifest": m}, "path of a local file") for m in ("", 7, "s3://bucket/m")),
        (files.write_text, "{time}", {"compression": "lzo"}, "compression='lzo'"),
        *(
            (files.write_text, f"{{time}}.{end}", {}, "or give compression=None")
            for end in ("lz4", "br", "Bgz", "lzma")
        ),
        (files.write_text, "{time}", {"end": 3}, ""),
        (files.write_parquet, "{time}.parquet.gz", {}, ""),
        (files.write_parquet, "{time}", {"compression": "lzo"}, ""),
        (files.write_parquet, "{time}", {"row_group": 0}, ""),
        (files.write_parquet, "{time}", {"schema": {"n": int}}, ""),
        (files.write_parquet, "{time}", {"schema": {"n": pa.month_day_nano_interval()}}, ""),
        (files.write_parquet, "all.parquet", {}, ""),
        (files.write_arrow, "{time}.arrow.zst", {}, ""),
        (files.write_arrow, "{time}", {"compression": "gzip"}, ""),
        (files.write_arrow, "{time}", {"schema": pa.schema([("n", pa.dictionary("int8", pa.string()))])}, ""),
        (files.write_csv, "{time}", {"schema": ["n"]}, ""),
        (files.write_csv, "{time}", {"schema": pa.schema([("n", "int8"), ("n", "int8")])}, ""),
        (files.write_csv, "{time}", {"schema": {"n": pa.list_(pa.int8())}}, ""),
        (files.write_csv, "{time}", {"schema": {"n": "binary"}}, ""),
        (files.write_csv, "{time}", {"schema": {"n": "integer"}}, "No type alias for integer"),
        (files.write_csv, "{time}", {"schema": {"n": "integer"}}, "{'item': 'string', 'sold': 'int64'"),
        *((files.write_csv, "{time}", {"delimiter": delimiter}, "") for delimiter in ("||", '"', "\n", "\0")),
        (files.write_csv, "{time}", {"rowgroup": 3}, ""),
    ],
)
def test_arguments_refused_when_composing(write, target, options, message):
    with pytest.raises(ps.CompositionError) as caught:
        write(target, **options)
    assert str(caught.value).startswith(f"{write.__name__}(")
    assert message in str(caught.value)


NAN = float("nan")
ROW = {"shop": "a", "n": 1}
TWO_OF_A_NAME = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["n", "n"])
NO_COLUMN = "a value has no column 'till', which key= names; it has 'shop', 'n'"
NAME = "cannot be part of a file name"
NO_JSON = (ValueError, TypeError)
NO_TEXT = (TypeError, UnicodeEncodeError)

JSONL, TEXT, PARQUET = files.write_jsonl, files.write_text, files.write_parquet
BEYOND = f"write_csv: the column 'at' is timestamp[us], and {1 << 62} is out of its range. Leave it out"
NO_UNIT = "the column 'at' is timestamp[s], and cannot hold 5 (int), value 1: a number is a timestamp in microseconds"


MIXED = [
    ([7], "value 1, 7 (int), is not a row: rows are dicts, named tuples, tuples, or Arrow record batches"),
    (
        [{"a": 1}, {5: 2}],
        "value 2, {5: 2} (dict), is not a row: it has a column 5 (int), but names must be str",
    ),
    ([(1,), (1, 2)], "value 2, (1, 2) (tuple), is not a row: it has 2 columns instead of 1"),
    ([([],), ([1],), (["x"],)], "the column 'f0' cannot hold ['x'] (list), value 3"),
    ([{"n": 1}, pa.table({"n": [True]})], "the column 'n' is int64, and cannot hold True (bool), value 2"),
    (
        [pa.table({"n": pa.array([1], pa.timestamp("us"))}), {"n": 1}],
        "the column 'n' is timestamp[us], and cannot hold 1 (int), value 2: Unable to merge: Field n has",
    ),
    ([{"n": 2**60 + 1}, pa.table({"n": [0.5]})], "is double, and cannot hold 1152921504606846977 (int), value 1"),
    ([{"n": 1.5}, {"n": True}], "the column 'n' cannot hold True (bool), value 2: a bool is not a number"),
]


@pytest.mark.parametrize(
    ("values", "write", "target", "options", "kind", "message"),
    [
        (["x" * 300], TEXT, "{time}/{key}", {"key": str}, files.FileTargetError, NAME),
        (["\ud800"], TEXT, "{time}{key}", {"key": str}, files.FileTargetError, "write_text: the time 0 and "),
        (["\ud800"], TEXT, "{time}{key}", {"key": str}, files.FileTargetError, NAME),
        (["a"], TEXT, "{time:%Y}", {}, files.FileTargetError, "'int'. The times must be dates or datetimes: make"),
        ([1, "1"], JSONL, "{time}{key}", {"key": lambda v: v}, files.FileTargetError, "the keys 1 and '1' would share"),
        # Names are compared by their bytes.
        (["é", "\udcc3\udca9"], JSONL, "{time}{key}", {"key": str}, files.FileTargetError, "would share the file"),
        (["a"], TEXT, "{key}", {"key": lambda _: 1 // 0}, ZeroDivisionError, ""),
        ([{"k": [1]}], JSONL, "{key}", {"key": "k"}, TypeError, "[1] (list) cannot be a key: key= must return text or"),
        *(
            ([{}, ()], write, "{time}", {}, files.SchemaError, "have no columns")
            for write in (files.write_csv, PARQUET)
        ),
        # A named tuple has methods called count and index, which are not columns.
        ([Sale("a", 1)], JSONL, "{key}", {"key": "count"}, files.SchemaError, "a value has no column 'count'"),
        *(
            ([value], JSONL, "{key}", {"key": "till"}, files.SchemaError, NO_COLUMN)
            # A defaultdict would make up a key, and keep it.
            for value in (ROW, defaultdict(int, ROW), Sale("a", 1), pa.record_batch({"shop": ["a"], "n": [1]}))
        ),
        ([TWO_OF_A_NAME], JSONL, "{time}", {}, files.SchemaError, "the columns ['n', 'n'] are not parts of one object"),
        *(([value], JSONL, "{time}", {}, NO_JSON, "") for value in (NAN, float("inf"), {"x": NAN}, object(), {1, 2})),
        *((["ü", value], TEXT, "{time}", {}, NO_TEXT, "") for value in (7, "\ud800", b"x")),
        (["x"], files.write_bytes, "{time}", {}, NO_TEXT, ""),
        ([{"n": {}}], PARQUET, "{time}", {}, files.SchemaError, "struct<>, which write_parquet cannot write"),
        *((values, PARQUET, "{time}", {}, files.SchemaError, message) for values, message in MIXED),
        # Microseconds given as seconds.
        ([{"at": 1 << 62}], files.write_csv, "{time}", {"schema": {"at": "timestamp[us]"}}, files.SchemaError, BEYOND),
        ([{"at": 5}], PARQUET, "{time}", {"schema": {"at": "timestamp[s]"}}, files.SchemaError, NO_UNIT),
    ],
)
def test_values_and_keys_refused_in_a_run(values, write, target, options, kind, message, tmp_path):  # noqa: PLR0917
    """The error is Python's own or explains itself; a note names the module; no file is left."""
    with pytest.raises(kind) as caught:
        written(values, write(tmp_path / target, **options))
    assert message in str(caught.value)
    notes = getattr(caught.value, "__notes__", [])
    assert write.__name__ in str(caught.value) or any(write.__name__ in note for note in notes)
    if kind is NO_TEXT:
        assert notes[0].startswith(f"writing {values[-1]!r}")
        # str() would write the text "b'x'".
        assert ("ps.map(str)" in notes[0]) == (values[-1] == 7)
    assert content(tmp_path) == {}


def test_text_that_looks_like_a_value_out_of_range(tmp_path):
    text = "<value out of range: 1>"
    write = files.write_csv(tmp_path / "{time}", schema={"text": "string", "at": "timestamp[us]"})
    (path,) = written([{"text": text, "at": 1}], write)
    assert path.read_text().splitlines()[1] == f'"{text}",1970-01-01 00:00:00.000001'


def test_two_times_for_one_file(tmp_path):
    """The days of a month cannot share its file; the advice in the message works."""
    days = ps.values([dt.date(2026, 3, 2), dt.date(2026, 3, 3), dt.date(2026, 4, 1)], time=lambda day: day)
    write = files.write_jsonl(f"{tmp_path}/{{time:%Y-%m}}.jsonl")
    with pytest.raises(files.FileTargetError, match=r"would share the file .*: ps\.map_time\(lambda time: "):
        ps.run(ps.pipe(days, write))
    assert not [name for name in content(tmp_path) if name.startswith(".")]
    paths = ps.run(ps.pipe(days, ps.map_time(lambda day: day.replace(day=1)), write))
    assert [(path.name, path.read_text().count("\n")) for path in paths] == [("2026-03.jsonl", 2), ("2026-04.jsonl", 1)]


NESTED = {
    "struct": [("tea", {"n": 2, "most": 4})],
    "list": [("tea", [1])],
    "map": [pa.table({"f0": ["tea"], "f1": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))})],
    "binary": [("tea", b"tea")],
}


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("kind", NESTED)
def test_a_column_that_csv_cannot_hold(kind, header, tmp_path):
    """The error advises plain columns; a schema could not help."""
    with pytest.raises(files.SchemaError) as caught:
        written(NESTED[kind], files.write_csv(tmp_path / "{time}.csv", header=header))
    assert f"0.csv: the column 'f1' is {kind}" in str(caught.value)
    assert "convert it to plain columns" in str(caught.value)
    assert "schema=" not in str(caught.value)
    assert content(tmp_path) == {}


MISFITS = [{"n": "tea"}, {"n": 1, "x": 2}, (1, 2), [1, 2, 3], {"n": 2**70}, pa.table({"n": ["tea"]})]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row_group", [1, 10])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("value", MISFITS, ids=str)
def test_the_advice_depends_on_whether_a_schema_was_given(value, given, row_group, tmp_path):
    write = files.write_parquet(tmp_path / "{time}", schema={"n": "int64"} if given else None, row_group=row_group)
    values = [{"n": 1}, value]
    if not given and row_group > 1 and isinstance(value, dict) and "x" in value:
        assert written(values, write)
        return
    with pytest.raises(files.SchemaError) as caught:
        written(values, write)
    assert ("give a schema=" in str(caught.value)) is not given
    assert ("or change the schema" in str(caught.value)) is given
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
