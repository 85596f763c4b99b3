"""`read_jsonl`."""

import json
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import partial
from typing import Any, Final, Literal, cast, overload

import attrs
from typing_extensions import Unpack, override

from pullstream import Failed, Source
from pullstream.authoring import Call, OnError

from ...arrow import pa
from .blocks import Block, Cutter, LineByLine, one_by_one, opened
from .errors import FileReadError, by_name
from .formats import AT_A_TIME, Agreed, Bad, Piece, ReadFormat, Start, TableFormat, Values, arrow_types, decoded
from .listing import File, Paths
from .options import Tabular, encoding_argument, tabular_source
from .parsing import MOST, Sieve, uncounted
from .streams import RawFile, transcoded

BLANK: Final = b" \t\r\n"
"""The characters that JSON allows around a value."""

_SCAN: Final[Callable[[str, int], tuple[Any, int]]] = cast("Any", json.JSONDecoder()).scan_once
"""The scanner inside `json.loads`, without the checks that `loads` repeats for each line."""

_NEXT: Final = re.compile(rb"\}\s*\n\s*\{")
"""The end of an object, and the beginning of the next one on another line."""

_NULL: Final = re.compile(rb"\n[ \t\r]*null")


def _values(columns: tuple[str, ...] | None, file: File, block: Block, start: Start | None) -> Iterator[Values | Bad]:
    """Parse one JSON value per line, as `json` does."""
    text, parse = decoded(block.data), partial(_parsed, columns, file.path)
    if text is None:
        yield from one_by_one(file, block.lines, block.line, start, parse, blank=False)
        return
    at, line = 0, block.line
    while at < len(text):
        values, end = _scanned(text, at)
        if values is not None and columns is not None:
            objects = all(isinstance(value, dict) for value in values)
            values = [chosen(columns, value) for value in values] if objects else None
        if values is None:
            # A line is bad or empty: parse the rest of the block line by line.
            yield from one_by_one(file, text[at:].encode().split(b"\n"), line, start, parse, blank=False)
            return
        yield Values(values, line, start, more=end < len(text))
        at, line = end, line + len(values)


def _parsed(columns: tuple[str, ...] | None, path: str, line: bytes) -> Any:
    text = line.decode()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as exc:
        # A line may begin a value of several lines.
        whole = "; each line must be one whole JSON value" if text.strip() in {"[", "{"} else ""
        raise ValueError(
            f"is not valid JSON: {exc.msg}, at column {exc.colno}{whole}{by_name(path, 'read_jsonl')}"
        ) from None
    except RecursionError:
        raise ValueError("is JSON nested too deeply") from None
    return value if columns is None else chosen(columns, value)


def _scanned(text: str, at: int) -> tuple[list[Any] | None, int]:
    """The values of the next lines, and where they end; None if one of the lines is not exactly one value.

    At most `AT_A_TIME`: many objects alive at once keep Python's garbage collector busy.
    """
    values: list[Any] = []
    begin = at
    add, scan, size = values.append, _SCAN, len(text)
    try:
        for _ in range(AT_A_TIME):
            value, at = scan(text, at)
            if at != size and text[at] != "\n":
                return None, at
            add(value)
            at += 1
            if at >= size:
                break
    except (StopIteration, ValueError, RecursionError):
        return None, at
    # The scanner accepts a value that spans several lines; this format does not.
    lines = text.count("\n", begin, at) + (at > size)
    return (values if lines == len(values) else None), at


def chosen(columns: tuple[str, ...], value: Any) -> Any:
    """The selected members of an object, with None for missing ones."""
    if not isinstance(value, dict):
        raise TypeError(f"is not an object, but columns= was given: {value!r}")
    return {name: value.get(name) for name in columns}  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


@attrs.frozen
class JsonTableFormat(TableFormat):
    """JSON Lines as Arrow tables."""

    encoding: str = attrs.field(kw_only=True)

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        with opened(file, raw, start, self.compression, transcoded(self.encoding)) as stream:
            # One sieve per file: the inferred types depend on what precedes a block.
            sieve = Sieve(file, partial(self._parse, agreed), raw.stop.look, None, BLANK)
            cut = Cutter(file.path, stream, self.block_size, start).blocks()
            yield from sieve.pieces(sieve.settled(cut, agreed, partial(self._settle, file, agreed)), stream)

    def _settle(self, file: File, agreed: Agreed, block: Block) -> None:
        """Infer the columns and types that were not given from the first block."""
        given = arrow_types(self.schema)
        fields: dict[str, Any] = {}
        if self.columns is None or not set(self.columns) <= set(given):
            table = self._first(file, block, given)
            if table is None:
                return
            fields = {name: table.schema.field(name).type for name in self._in_order(block, table.schema.names)}
        types = {**fields, **given}
        names = list(types) if self.columns is None else self.columns
        agreed.settle(file, pa.schema([(name, types.get(name, pa.null())) for name in names]))

    def _in_order(self, block: Block, names: list[str]) -> list[str]:
        """The columns in the order of the first line, then the others; pyarrow puts those of the schema first."""
        first = next((line for line in (self._wanted(line, {}) for line in block.lines) if line is not None), b"{}")
        wanted = {*names}
        return [name for name in dict.fromkeys([*json.loads(first), *names]) if name in wanted]

    def _first(self, file: File, block: Block, types: dict[str, Any]) -> Any:
        """A table of the readable lines of the first block; None if there are none."""

        def parse(data: bytes) -> Any:
            return _read_json(data, pa.schema(list(types.items())), "infer")

        try:
            return parse(block.data)
        except (ValueError, pa.ArrowException):
            # Keep only the columns whose types must be inferred; the others may contain anything.
            good = [line for line in (self._wanted(line, types) for line in block.lines) if line is not None]
        try:
            return parse(b"\n".join(good)) if good else None
        except pa.ArrowException as exc:
            problem = (
                f"has lines whose types do not match: {uncounted(exc)}; give schema=, select columns=, or use "
                f"as_='dicts'"
            )
            raise FileReadError(file.path, problem) from None

    def _wanted(self, line: bytes, given: Mapping[str, Any]) -> bytes | None:
        """The wanted columns that a line has, without those in `given`; None if the line is not an object."""
        try:
            value: Any = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        members = cast("dict[str, Any]", value)
        wanted = members if self.columns is None else self.columns
        return json.dumps({name: members[name] for name in wanted if name in members and name not in given}).encode()

    def _parse(self, agreed: Agreed, data: bytes) -> Any:
        # Without a schema no line so far was an object, and neither is this one.
        schema = pa.schema([]) if agreed.schema is None else agreed.schema
        table = _read_json(data, schema, "error" if self.columns is None else "ignore")
        # pyarrow reads several objects from one line. Where no white space is between rows, counting is faster.
        following, apart = table.num_rows - 1, data.count(b"}\n{") + data.count(b"}\r\n{")
        if apart < following and len(_NEXT.findall(data)) < following:
            raise ValueError("has more than one value; each line must be one whole JSON value")
        return table.select(schema.names)


def _read_json(data: bytes, schema: Any, unexpected: str) -> Any:
    # pyarrow takes any bytes for text, and makes a row of a null, or crashes if it is first.
    data.decode()
    if _NULL.search(b"\n" + data):
        raise ValueError("is null, and not an object")
    parse = pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected)
    # Parse the data as one piece, so a line may have any length; several blocks are parsed in parallel.
    read = pa.json.ReadOptions(block_size=min(max(len(data) + 1, 64), MOST), use_threads=False)
    return pa.json.read_json(pa.BufferReader(data), read_options=read, parse_options=parse)


@overload
def read_jsonl(
    paths: Paths, *, encoding: str = "utf-8", on_error: OnError[Any] = "fail", **options: Unpack[Tabular]
) -> Source[Any]: ...
@overload
def read_jsonl(
    paths: Paths, *, encoding: str = "utf-8", on_error: Literal["result"], **options: Unpack[Tabular]
) -> Source[Any | Failed[Any]]: ...
def read_jsonl(
    paths: Paths, *, encoding: str = "utf-8", on_error: Any = "fail", **options: Unpack[Tabular]
) -> Source[Any]:
    r"""Read JSON Lines: one value per line, exactly as `json` parses it; empty lines are skipped.

    >>> import tempfile, pathlib, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "flights.jsonl")
    ...     _ = path.write_text('{"day": 1, "carrier": "AA"}\n{"day": 2, "carrier": "UA", "note": [1, {"n": null}]}\n')
    ...     exact = ps.run(ps.pipe(files.read_jsonl(path, time="day"), ps.collect(timed=True)))
    ...     rows = ps.run(ps.pipe(files.read_jsonl(path, as_="rows", columns=["carrier"]), ps.collect()))
    >>> exact
    [(1, {'day': 1, 'carrier': 'AA'}), (2, {'day': 2, 'carrier': 'UA', 'note': [1, {'n': None}]})]
    >>> rows
    [Row(carrier='AA'), Row(carrier='UA')]

    With any other `as_` (`"rows"`, named tuples; `"tuples"`; `"batches"`, Arrow record batches) every line must be an
    object. pyarrow turns the members into columns, and all files have the same columns: the members in the first block
    of the first file, and those in `schema`, which gives types (a mapping of names to Arrow types or their names, or a
    `pyarrow.Schema`). A missing member is None. Any other member is an error, unless `columns` selects the wanted ones.
    pyarrow infers the other types: text that looks like a date or a timestamp, such as "2026-03-01", is a timestamp,
    unless `schema` says "string", and a whole number of more than 64 bits, or beside 1.5, is a float, which rounds it.

    A line that cannot be read is an error that names the line. With `on_error` (see `map`), it is skipped and
    counted, or its bytes are the value of a `Failed`. For `paths`, the other options (`Options`) and the errors see
    `read_text`.
    """
    encoding_argument("read_jsonl", encoding)
    dicts = options.get("as_", "dicts") == "dicts"
    if dicts and options.get("schema") is not None:
        raise Call("read_jsonl").refuse(
            "got schema=, which does not apply to dicts, as they keep JSON's own "
            "types: add as_='rows', or leave schema= out"
        )

    def format(compression: str | None, size: int, *, columns: tuple[str, ...] | None, schema: Any) -> ReadFormat:
        if dicts:
            return LineByLine(compression, size, of_block=partial(_values, columns), encoding=encoding)
        return JsonTableFormat(compression, size, columns=columns, schema=schema, encoding=encoding)

    return tabular_source("read_jsonl", paths, format, options, on_error, usual="dicts")
