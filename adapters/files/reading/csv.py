"""`read_csv`."""

from collections.abc import Generator, Iterator, Sequence
from functools import cache, partial
from inspect import getmembers, isgetsetdescriptor
from itertools import chain
from pathlib import PurePath
from typing import Any, Literal, cast, overload

import attrs
from typing_extensions import Unpack, override

from pullstream import Failed, Source
from pullstream.authoring import Call, Instance, OnError

from ...arrow import pa
from ..names import CODECS
from .blocks import BOM, Block, Cutter, Overlong, Quoting, opened, records
from .errors import FileReadError, as_packed, by_name
from .formats import Agreed, Piece, Start, TableFormat, arrow_types, missing_columns, unique
from .listing import File, Paths, checked_paths
from .options import Tabular, encoding_argument, tabular_source
from .parsing import MOST, WIDTH, Sieve, uncounted
from .streams import RawFile, transcoded


@attrs.frozen
class CsvFormat(TableFormat):
    """Rows of text, which pyarrow parses into columns."""

    read: Any = attrs.field(kw_only=True)
    """The pyarrow read options: given, or pyarrow's defaults; likewise `parse` and `convert`."""
    parse: Any = attrs.field(kw_only=True)
    convert: Any = attrs.field(kw_only=True)
    sure: bool = attrs.field(kw_only=True)
    """Whether the delimiter was given."""

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        quoting = Quoting(self.parse) if self.parse.quote_char or self.parse.escape_char else None
        within = quoting if self.parse.newlines_in_values else None
        # Lines cannot be counted if a row handler may drop rows, or a row may have several lines.
        strict = self.parse.invalid_row_handler is None and not self.parse.newlines_in_values
        parse = _changed(self.parse)
        with opened(file, raw, Start(), self.compression, transcoded(self.read.encoding)) as stream:
            cut = Cutter(file.path, stream, self.block_size, Start(), within).blocks()
            rest = self._skipped(file, cut, self.read.skip_rows)
            # A header is not blank; the first row may be.
            given = 2 if self.read.autogenerate_column_names else len(self.read.column_names or ())
            before = self._blank(given) if given else None
            head = next((block for block in rest if isinstance(block, Overlong) or block.data.lstrip(before)), None)
            if head is None:
                return
            if isinstance(head, Overlong):
                raise head.error
            names, head = self._head(file, head, parse, within, agreed)
            if agreed.schema is not None:
                agreed.check_names(file, names, chosen=self.columns is not None)
            # The user's invalid_row_handler must see rows one at a time, in file order.
            width = WIDTH if self.parse.invalid_row_handler is None else 0
            blank = self._blank(len(names))
            rows = quoting if strict else within
            parsed = partial(self._parsed, names, parse, agreed)
            sieve = Sieve(file, parsed, raw.stop.look, rows, blank, strict=strict, names=names, width=width)
            body = self._skipped(file, chain([head], rest), self.read.skip_rows_after_names)
            if start.at:
                raw.seek(start.at)
                body = Cutter(file.path, stream, self.block_size, start, within).blocks()

            def settle(block: Block) -> None:
                agreed.settle(file, self._inferred(block.data, names))

            yield from sieve.pieces(sieve.settled(body, agreed, settle), stream)

    def _blank(self, columns: int) -> bytes:
        """The characters that may fill a line that is not a row; with several columns, a row has delimiters."""
        if columns > 1:
            return b" \t\r\n\v\f".replace(self.parse.delimiter.encode(), b"")
        return b"\r\n" if self.parse.ignore_empty_lines else b""

    def _skipped(self, file: File, all_blocks: Iterator[Block], lines: int) -> Iterator[Block]:
        """The blocks without the first `lines` lines."""
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

    def _head(
        self, file: File, block: Block, parse: Any, quoting: Quoting | None, agreed: Agreed
    ) -> tuple[list[str], Block]:
        """The column names, and the rest of the first block after the header."""
        rows = records(block, quoting)
        at = next((number for number, row in enumerate(rows) if row.strip()), 0)
        given: list[str] = list(self.read.column_names or ())
        if given:
            names, used = given, 0
        else:
            if b"\0" in rows[at]:
                advice = by_name(file.path, "read_csv") or as_packed(rows[at]) or "; check encoding="
                raise FileReadError(file.path, f"is not CSV in this encoding: its header has null characters{advice}")
            if rows[at] != agreed.header[0]:
                agreed.header = rows[at], self._names(file, rows[at], block.line, parse)
            names = agreed.header[1]
            used = 0 if self.read.autogenerate_column_names else at + 1
        unique(file, names)
        other = next((char for char in "\t;" if char in names[0]), None) if len(names) == 1 else None
        if other is not None and not (self.sure or given):
            raise FileReadError(
                file.path,
                f"has a single column, {names[0]!r}: the delimiter seems to be {other!r}. Set delimiter={other!r}, or "
                f"delimiter={self.parse.delimiter!r} if it is one column",
            )
        missing_columns(file, names, self._given_types() if self.columns is None else self.columns)
        taken = b"".join(rows[:used])
        data = block.data[len(taken) :]
        return names, Block(data, block.line + taken.count(b"\n"), block.offset + len(taken))

    def _given_types(self) -> dict[str, Any]:
        return {**dict(self.convert.column_types), **arrow_types(self.schema)}

    def _inferred(self, data: bytes, names: list[str]) -> Any:
        """The columns to read with their types: as given, else inferred from the first block."""
        given = self._given_types()
        wanted = list(self.columns or self.convert.include_columns or names)
        types = {name: given[name] for name in wanted if name in given}
        open_ = [name for name in wanted if name not in types]
        if open_:
            lenient = _changed(self.parse, invalid_row_handler=_left_out)
            table = self._table(data, names, open_, {}, lenient)
            # A column that is empty here, or not UTF-8, is text unless the user gives its type.
            unclear = (pa.null(), pa.binary())
            for field in table.schema:
                types.setdefault(field.name, pa.string() if field.type in unclear else field.type)
        return pa.schema([(name, types[name]) for name in wanted])

    def _names(self, file: File, row: bytes, line: int, parse: Any) -> list[str]:
        """The columns that a header names, or f0, f1, ... for a file without a header."""
        headless = self.read.autogenerate_column_names
        try:
            row.decode()
            read = pa.csv.ReadOptions(autogenerate_column_names=headless)
            # The last line of a file may lack its line end; pyarrow would take it for a partial block.
            data = pa.BufferReader(row if row.endswith(b"\n") else row + b"\n")
            table = pa.csv.read_csv(data, read_options=read, parse_options=parse)
        except (UnicodeDecodeError, pa.ArrowException) as exc:
            raise FileReadError(file.path, f"has an unreadable header: {uncounted(exc)}", line) from None
        # There must be no rows besides the header.
        if table.num_rows > int(headless):
            raise _lone_cr(file, line)
        return list(table.column_names)

    def _parsed(self, names: list[str], parse: Any, agreed: Agreed, data: bytes) -> Any:
        return self._table(data, names, agreed.schema.names, arrow_types(agreed.schema), parse)

    def _table(self, data: bytes, names: list[str], wanted: list[str], types: dict[str, Any], parse: Any) -> Any:
        """Parse whole rows into a table with the wanted columns."""
        options = _changed(self.convert, column_types=types, include_columns=wanted)
        # Parse the data as one piece, so a row may have any length; several blocks are parsed in parallel. Without
        # threads, pyarrow would pass the user's handler row numbers, which would count within the block.
        threads = parse.invalid_row_handler is not None
        read = pa.csv.ReadOptions(column_names=names, block_size=min(len(data) + 1, MOST), use_threads=threads)
        if data.startswith(BOM):
            # pyarrow strips a leading byte order mark; here it is a part of the first value.
            data = BOM + data
        # Not `read_csv`, which starts a thread in each call.
        with pa.csv.open_csv(
            pa.BufferReader(data), read_options=read, parse_options=parse, convert_options=options
        ) as reader:
            return reader.read_all()


def _lone_cr(file: File, line: int) -> FileReadError:
    return FileReadError(
        file.path,
        "has lines that end in a bare carriage return (old Mac style), which would be lost: convert them to line "
        "feeds, for example with `tr '\\r' '\\n'`",
        line,
    )


def _left_out(_row: object) -> str:
    return "skip"


def _options(module: str, name: str, kind: str, given: Any) -> Any:
    expected = getattr(pa.csv, kind)
    needs = f"needs a pyarrow.csv.{kind} for its argument {name!r}"
    return expected() if given is None else Instance(expected, needs)(Call(module, name=name), given)


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
    delimiter: str | None = None,
    encoding: str | None = None,
    read_options: Any = None,
    parse_options: Any = None,
    convert_options: Any = None,
    on_error: Any = "fail",
    **options: Unpack[Tabular],
) -> Source[Any]:
    r"""Read CSV files with pyarrow: every row as a named tuple, a tuple, a dict, or in an Arrow record batch (`as_`).

    >>> import tempfile, pathlib, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "delays.csv")
    ...     _ = path.write_text("day,carrier,delay\n2026-03-01,AA,2.5\n2026-03-02,UA,4\n2026-03-02,x,late\n")
    ...     days = files.read_csv(path, time="day", schema={"delay": "float64"}, on_error="skip")
    ...     ps.run(ps.pipe(days, ps.map(lambda row: row.carrier), ps.collect(timed=True)))
    [(datetime.date(2026, 3, 1), 'AA'), (datetime.date(2026, 3, 2), 'UA')]

    The first line of a file names its columns. All files must have the same columns with the same types; `columns`
    selects those to read. `schema` gives types: a mapping of names to Arrow types or their names, or a
    `pyarrow.Schema`. pyarrow infers the other types from the first block of the first file; a column that is empty
    there is text, and so is one with `unknown` there, but `01234` is the number 1234, and a whole number of more than
    64 bits is a float, which rounds it. A timestamp is an int (microseconds since 1970, UTC) unless `as_="batches"`.
    For the attributes of rows (`row.unit_price` for "unit price") see `pullstream.arrow.Shape`.

    For other kinds of CSV, pass pyarrow's own options: `pyarrow.csv.ReadOptions` (no header, skipped lines, ...),
    `ParseOptions` and `ConvertOptions`. `delimiter` and `encoding` are shortcuts for the most common ones. A file
    whose header is a single name with a tab or a semicolon is refused, unless `delimiter` is given.

    An empty field is None in a column of numbers and "" in a column of text, even one that `write_csv` wrote for None.
    To tell it from "" in quotes, pass `ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)`. In
    a column of numbers, `NaN`, `nan`, `NA`, `null` and the like are None, too, even NaN that `write_csv` wrote: with
    `ConvertOptions(null_values=[""])`, NaN is a number.
    Empty lines are skipped. In a file of one column, some programs write None as an empty line:
    `ParseOptions(ignore_empty_lines=False)` reads them as rows.

    Values with line breaks need `ParseOptions(newlines_in_values=True)`. A quote that stays open for 64 times the
    `block_size`, or to the end of the file, is then an error of its line, and reading continues with the next line.
    Without it, a row with a line break in a value is an error as a whole if it is less than about 8 times the
    `block_size` long. Each line of a longer one is read as a row. Lines end in a line feed, optionally after a carriage
    return.

    A row that cannot be read (too many fields, an invalid number, invalid UTF-8) is an error that names its line. With
    `on_error` (see `map`), it is skipped and counted, or its bytes are the value of a `Failed`. For `paths`, the other
    options (`Options`) and the errors see `read_text`.
    """
    name = "read_csv"
    _refuse_json(name, checked_paths(name, paths, options.get("filesystem")))
    read = _options(name, "read_options", "ReadOptions", read_options)
    parse = _options(name, "parse_options", "ParseOptions", parse_options)
    convert = _options(name, "convert_options", "ConvertOptions", convert_options)
    if delimiter is not None:
        try:
            parse = _changed(parse, delimiter=delimiter)
        except (TypeError, ValueError) as exc:
            raise Call(name).refuse(f"got delimiter={delimiter!r}: {exc}") from None
    if encoding is not None:
        read = _changed(read, encoding=encoding)
    encoding_argument(name, read.encoding)

    format = partial(CsvFormat, read=read, parse=parse, convert=convert, sure=delimiter is not None)
    return tabular_source(name, paths, format, options, on_error, extra={"delimiter": delimiter})


def _refuse_json(module: str, paths: Sequence[str]) -> None:
    """Refuse JSON Lines by name: read as CSV, they would give nonsense rows."""
    for path in paths:
        name = PurePath(path)
        if name.suffix in CODECS:
            name = name.with_suffix("")
        if name.suffix in {".jsonl", ".ndjson"}:
            raise Call(module).refuse(f"got {path!r}, which is JSON Lines: use read_jsonl")


def _changed(options: Any, **changes: Any) -> Any:
    """New options with some changes. A copy would call a row handler that is None, and print the error."""
    kind = cast("Any", type(options))
    return kind(**{name: getattr(options, name) for name in _names(kind)} | changes)


@cache
def _names(kind: Any) -> Sequence[str]:
    return [name for name, _ in getmembers(kind, isgetsetdescriptor)]
