"""`read_csv`."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import PurePath
from typing import Any, Literal, overload

import attrs
from typing_extensions import Unpack, override

from pullstream import CompositionError, Failed, Source
from pullstream.authoring import OnError, Site

from ...arrow import As, pyarrow
from .blocks import BOM, Block, Overlong, blocks, opened, records
from .errors import FileReadError
from .formats import Agreed, Piece, ReadFormat, Start, arrow_types, missing_columns, unique
from .listing import File, Paths, checked_paths
from .options import Options, Tabular, encoding_argument, tabular_source
from .parsing import MOST, WIDTH, Sieve, settled, uncounted
from .streams import CODECS, RawFile, transcoded


@attrs.frozen
class CsvFormat(ReadFormat):
    """Rows of text, whose columns pyarrow parses."""

    read: Any
    """pyarrow's options, which it was given or its own."""
    parse: Any
    convert: Any
    columns: tuple[str, ...] | None
    schema: Any
    compression: str | None
    block_size: int

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        quote = self._quote()
        parts = _ParserOptions(self)
        with opened(file, raw, Start(), self.compression, transcoded(self.read.encoding)) as stream:
            cut = blocks(file.path, stream, self.block_size, Start(), quote)
            rest = self._skipped(file, cut, self.read.skip_rows)
            head = next((block for block in rest if isinstance(block, Overlong) or not block.data.isspace()), None)
            if head is None:
                return
            if isinstance(head, Overlong):
                raise head.error
            names, head = self._head(file, head, parts, quote)
            if agreed.schema is not None:
                agreed.check_names(file, names, chosen=self.columns is not None)
            parse = partial(self._parse, names, parts, agreed)
            # A function of the user's sees one row after the other, as they are in the file.
            width = WIDTH if self.parse.invalid_row_handler is None else 0
            sieve = Sieve(file, parse, raw.stop.look, quote, parts.strict, names=names, width=width)
            body = self._skipped(file, chain([head], rest), self.read.skip_rows_after_names)
            if start.at:
                raw.seek(start.at)
                body = blocks(file.path, stream, self.block_size, start, quote)

            def settle(block: Block) -> None:
                agreed.settle(file, self._inferred(file, block.data, names, parts))

            yield from sieve.pieces(settled(body, agreed, settle), stream)

    def _quote(self) -> bytes | None:
        """The quote within which lines may end, if they may."""
        parse = self.parse
        return parse.quote_char.encode() if parse.newlines_in_values and parse.quote_char else None

    def _skipped(self, file: File, all_blocks: Iterator[Block | Overlong], lines: int) -> Iterator[Block | Overlong]:
        """The blocks without so many lines at first."""
        for block in all_blocks:
            if isinstance(block, Overlong):
                if lines:
                    lines -= 1
                else:
                    yield block
                continue
            data = block.data
            passed = 0
            while data and passed < lines:
                line, _, data = data.partition(b"\n")
                if b"\r" in line.removesuffix(b"\r"):
                    raise _lone_cr(file, block.line + passed)
                passed += 1
            lines -= passed
            if data:
                yield Block(data, block.line + passed, block.offset + len(block.data) - len(data))

    def _head(self, file: File, block: Block, parts: "_ParserOptions", quote: bytes | None) -> tuple[list[str], Block]:
        """The names of the columns, and what is left of the first block behind them."""
        rows = records(block, quote)
        at = next((number for number, row in enumerate(rows) if row.strip()), 0)
        given: list[str] = list(self.read.column_names or ())
        if given:
            names, used = given, 0
        else:
            names = parts.names(file, rows[at], block.line)
            used = 0 if self.read.autogenerate_column_names else at + 1
        unique(file, names)
        missing_columns(file, names, self.columns or ())
        taken = b"".join(rows[:used])
        data = block.data[len(taken) :]
        return names, Block(data, block.line + taken.count(b"\n"), block.offset + len(taken))

    def _inferred(self, file: File, data: bytes, names: list[str], parts: "_ParserOptions") -> Any:
        """The columns that are read, and their types: as was said or else as the first block has them."""
        pa = pyarrow()
        given = {**dict(self.convert.column_types), **arrow_types(self.schema)}
        missing_columns(file, names, given if self.columns is None else self.columns)
        wanted = list(self.columns or self.convert.include_columns or names)
        types = {name: given[name] for name in wanted if name in given}
        open_ = [name for name in wanted if name not in types]
        if open_:
            table = parts.read(data, names, open_, {}, lenient=True)
            # What is empty so far, and what is no UTF-8, is text until somebody says otherwise.
            unclear = (pa.null(), pa.binary())
            for field in table.schema:
                types.setdefault(field.name, pa.string() if field.type in unclear else field.type)
        return pa.schema([(name, types[name]) for name in wanted])

    def _parse(self, names: list[str], parts: "_ParserOptions", agreed: Agreed, data: bytes) -> Any:
        schema = agreed.schema
        return parts.read(data, names, schema.names, {field.name: field.type for field in schema})


class _ParserOptions:
    """pyarrow's reader, with the options of a format."""

    def __init__(self, format: CsvFormat) -> None:
        self._csv = import_module("pyarrow.csv")
        self._parse = format.parse
        self._convert = format.convert
        self._headless = format.read.autogenerate_column_names
        # Somebody who deals with bad rows leaves some out, as does an option by which rows are not lines.
        self.strict: bytes | None = None
        if format.parse.invalid_row_handler is None and not format.parse.newlines_in_values:
            self.strict = (format.parse.quote_char or "").encode()
        parsing = {name: getattr(format.parse, name) for name in _PARSING}
        self._lenient = self._csv.ParseOptions(**parsing, invalid_row_handler=_left_out)

    def names(self, file: File, row: bytes, line: int) -> list[str]:
        """The columns that a header names or, of a file without one, f0, f1, ..."""
        pa = pyarrow()
        try:
            row.decode()
            names, rows = self._names(row)
        except (UnicodeDecodeError, pa.ArrowException) as exc:
            raise FileReadError(file.path, f"has no header that can be read: {uncounted(exc)}", line) from None
        if rows > int(self._headless):
            raise _lone_cr(file, line)
        return names

    def _names(self, row: bytes) -> tuple[list[str], int]:
        """The names of the columns, and the number of rows beside the header."""
        read = self._csv.ReadOptions(autogenerate_column_names=self._headless)
        # The last line of a file may lack its end, which pyarrow takes for a part of a block.
        line = row if row.endswith(b"\n") else row + b"\n"
        table = self._csv.read_csv(pyarrow().BufferReader(line), read_options=read, parse_options=self._parse)
        return list(table.column_names), table.num_rows

    def read(
        self, data: bytes, names: list[str], wanted: list[str], types: dict[str, Any], *, lenient: bool = False
    ) -> Any:
        """A table of whole rows; `lenient`, of those that have as many columns as they should."""
        options = self._csv.ConvertOptions(**{name: getattr(self._convert, name) for name in _CONVERTING})
        options.column_types, options.include_columns = types, wanted
        pa = pyarrow()
        parse = self._lenient if lenient else self._parse

        # In one piece, in which a row may be as long as it likes; blocks are parsed side by side. The user's function
        # is told no number of a row, which would be one in the block, where pyarrow may use threads.
        threads = parse.invalid_row_handler is not None
        read = self._csv.ReadOptions(column_names=names, block_size=min(len(data) + 1, MOST), use_threads=threads)
        if data.startswith(BOM):
            # pyarrow leaves out one that is in front; here it is a part of the first value.
            data = BOM + data
        return self._csv.read_csv(
            pa.BufferReader(data), read_options=read, parse_options=parse, convert_options=options
        )


def _lone_cr(file: File, line: int) -> FileReadError:
    return FileReadError(
        file.path,
        "has lines that end in a carriage return alone, as of old Macs, and would be lost: write it again with line "
        "feeds, as `tr '\\r' '\\n'` does",
        line,
    )


_PARSING = ("delimiter", "quote_char", "double_quote", "escape_char", "newlines_in_values", "ignore_empty_lines")
_CONVERTING = (
    "check_utf8", "null_values", "true_values", "false_values", "decimal_point", "strings_can_be_null",
    "quoted_strings_can_be_null", "auto_dict_encode", "auto_dict_max_cardinality", "include_missing_columns",
    "timestamp_parsers", "default_column_type",
)  # fmt: skip


def _left_out(_row: object) -> str:
    return "skip"


def _options(module: str, name: str, kind: str, given: Any) -> Any:
    """Pyarrow's options, given or its own."""
    pyarrow()
    expected = getattr(import_module("pyarrow.csv"), kind)
    if given is None:
        return expected()
    if not isinstance(given, expected):
        raise CompositionError(
            f"{module}() at {Site.here()} needs a pyarrow.csv.{kind} as its {name}, and got {given!r}"
        )
    return given


class CsvOptions(Tabular, total=False):
    """The options of `read_csv`."""

    delimiter: str | None
    encoding: str | None
    read_options: Any
    parse_options: Any
    convert_options: Any


@overload
def read_csv(paths: Paths, *, on_error: OnError[Any] = "fail", **options: Unpack[CsvOptions]) -> Source[Any]: ...
@overload
def read_csv(
    paths: Paths, *, on_error: Literal["result"], **options: Unpack[CsvOptions]
) -> Source[Any | Failed[Any]]: ...
def read_csv(
    paths: Paths,
    *,
    as_: As = "rows",
    columns: Sequence[str] | None = None,
    schema: Mapping[str, Any] | Any = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    read_options: Any = None,
    parse_options: Any = None,
    convert_options: Any = None,
    on_error: Any = "fail",
    **options: Unpack[Options],
) -> Source[Any]:
    r"""Read CSV files through pyarrow: every row a named tuple, a tuple, a dict, or in an Arrow record batch (`as_`).

    >>> import tempfile, pathlib, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "delays.csv")
    ...     _ = path.write_text("day,carrier,delay\n2026-03-01,AA,2.5\n2026-03-02,UA,4\n2026-03-02,x,late\n")
    ...     days = files.read_csv(path, time="day", schema={"delay": "float64"}, on_error="skip")
    ...     ps.run(ps.pipe(days, ps.map(lambda row: row.carrier), ps.collect(timed=True)))
    [(datetime.date(2026, 3, 1), 'AA'), (datetime.date(2026, 3, 2), 'UA')]

    The first line of a file names its columns. All files have the same, of which `columns` are read, and of the same
    types: those that `schema` says (a mapping of names to Arrow types or their names, or a `pyarrow.Schema`), and for
    the others those that pyarrow finds in the first block of the first file; a column that is empty there is text. A
    timestamp is an int, microseconds since 1970 in UTC, unless `as_="batches"`. Where a column's name is none in
    Python, the attribute is what is left of it, `row.unit_price` of "unit price" and `row.class_` of "class", or else
    its position, `row._0`; what writes rows, or takes them by name (`key=`, `row._asdict()`), goes by the column's own.

    For other kinds of CSV there are pyarrow's own options, `pyarrow.csv.ReadOptions` (no header, skipped lines, ...),
    `ParseOptions` and `ConvertOptions`; `delimiter` and `encoding` are those that are needed most. Values with line
    breaks need `ParseOptions(newlines_in_values=True)`. A quote that nothing closes, for 64 times the `block_size` or
    to the end of the file, is then a failure of its line, and what follows it is rows again. Lines end in a line
    feed, with or without a carriage return before it.

    A row that cannot be read (too many fields, a number that is none, no UTF-8) is a failure that names its line; with
    `on_error`, see `map`, it is left out and counted, revealed or diverted, as bytes. `paths`, what else can be said
    (`Options`) and what is raised: see `read_text`.
    """
    name = "read_csv"
    _refuse_json(name, checked_paths(name, paths, options.get("filesystem")))
    read = _options(name, "read_options", "ReadOptions", read_options)
    parse = _options(name, "parse_options", "ParseOptions", parse_options)
    convert = _options(name, "convert_options", "ConvertOptions", convert_options)
    if delimiter is not None:
        parse = _changed(name, parse, _PARSING, delimiter=delimiter)
    if encoding is not None:
        encoding_argument(name, encoding)
        read = _changed(name, read, _READING, encoding=encoding)
    if parse.newlines_in_values and parse.escape_char:
        raise CompositionError(
            f"{name}() at {Site.here()} got newlines_in_values and an escape_char together, which it cannot cut into "
            f"blocks: write such values in quotes, with quotes doubled"
        )

    return tabular_source(
        name,
        paths,
        partial(CsvFormat, read, parse, convert),
        options,
        as_=as_,
        columns=columns,
        schema=schema,
        on_error=on_error,
        told={"delimiter": delimiter},
    )


def _refuse_json(module: str, paths: Sequence[str]) -> None:
    """Refuse JSON Lines, by their name: as CSV they would be read, as rows of nonsense."""
    for path in paths:
        name = PurePath(path)
        if name.suffix in CODECS:
            name = name.with_suffix("")
        if name.suffix in {".jsonl", ".ndjson"}:
            raise CompositionError(
                f"{module}() at {Site.here()} got {path!r}, which is JSON Lines: read_jsonl reads it"
            )


_READING = ("column_names", "autogenerate_column_names", "skip_rows", "skip_rows_after_names", "encoding")


def _changed(module: str, options: Any, names: Sequence[str], **changes: Any) -> Any:
    """Pyarrow's options with some of them changed; those that were given stay as they are."""
    handler = getattr(options, "invalid_row_handler", None)
    values = {name: getattr(options, name) for name in names}
    if handler is not None:
        values["invalid_row_handler"] = handler
    try:
        return type(options)(**{**values, **changes})
    except (TypeError, ValueError) as exc:
        raise CompositionError(f"{module}() at {Site.here()} got {changes}: {exc}") from None
