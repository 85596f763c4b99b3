"""Targets, and errors about them: a table in a database, whose password never appears in messages."""

import os
import re
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import unquote

import attrs

from pullstream import CompositionError, PullstreamError
from pullstream.authoring import Call

from ..arrow import SchemaError

_SUFFIXES: Final = {"sqlite": "sqlite", "sqlite3": "sqlite", "db": "sqlite", "duckdb": "duckdb", "ddb": "duckdb"}
_KINDS: Final = {
    "sqlite": "sqlite", "duckdb": "duckdb", "postgresql": "postgresql", "postgres": "postgresql", "delta": "delta",
    "iceberg": "iceberg",
}  # fmt: skip
_FOLDER: Final = re.compile(r"[^./\\_\x00-\x1f][^/\\\x00-\x1f]*")
OWN: Final = "pullstream_"
"""The prefix of the names of its own tables and columns."""
_FOLDED: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_SECRET: Final = re.compile(r"((?:ssl)?password=)([^&]*)", re.IGNORECASE)
_SECRET_OF_LIBPQ: Final = re.compile(r"((?:ssl)?password\s*=).*", re.IGNORECASE | re.DOTALL)
"""A password in a connection string of libpq: it may be quoted and have spaces, so all that follows is masked too."""


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def folded(name: str) -> str:
    """Return a name with its ASCII letters in lower case: SQLite and DuckDB fold no others."""
    return name.translate(_FOLDED)


class TableError(PullstreamError):
    """A database refused something; the message names the table, and the time and the row if they are known."""


class TableBusyError(TableError):
    """Another run, or another sink of this run, writes to the same table, or another process has a DuckDB file open."""


@attrs.frozen
class Address:
    """A database: its `kind`, its path or URL, and a text without the password."""

    kind: str
    location: str = attrs.field(repr=False)
    shown: str

    @classmethod
    def of(cls, module: str, given: object) -> "Address":
        """Parse a user's target: a known URL, or a path with a known suffix; others are refused."""
        whole: Any = given
        text: Any = cast("Any", os.fspath(whole)) if isinstance(given, (str, os.PathLike)) else ""
        if not isinstance(text, str) or not text or "\0" in text:
            raise cls._refusal(module, repr(whole))
        scheme, separator, rest = text.partition("://")
        if separator:
            kind = _KINDS.get(scheme.lower())
            if kind is None:
                raise cls._refusal(module, f"the scheme {scheme!r}")
            if kind == "postgresql":
                if not {"/", "?", "#", "@"}.isdisjoint(_password(text)):
                    raise Call(module).refuse(
                        "got a URL whose password has no clear end: write / ? # and @ in the password, and @ after it, "
                        "as %2F %3F %23 and %40"
                    )
                return cls(kind, text, _without_password(text))
            if rest and not rest.startswith("/"):
                raise Call(module).refuse(f"got {text!r}: for the path {rest!r}, write {scheme}:///{rest}")
            path = rest.removeprefix("/")
        else:
            path = text
            kind = _SUFFIXES.get(text.rpartition(".")[2].lower())
            if kind is None:
                raise cls._refusal(module, repr(_without_password(text)))
        if path in {"", ":memory:"}:
            raise Call(module).refuse(f"needs a persistent database, but got {text!r}: give the path of a file")
        return cls(kind, path, path)

    @staticmethod
    def _refusal(module: str, given: str) -> CompositionError:
        return Call(module).refuse(
            f"got {given}: give the path of a file that ends with .sqlite, .db or .duckdb, or a URL such as "
            f"sqlite:///sales.db, duckdb:///sales.duckdb, postgresql://user@host/database, delta:///folder or "
            f"iceberg:///folder"
        )

    def hidden(self, text: str) -> str:
        """Mask the password in a text."""
        for secret in _secrets(self.location) if self.kind == "postgresql" else ():
            text = text.replace(secret, "***")
        return text


def _secrets(url: str) -> list[str]:
    found = [_password(url), *(secret for _, secret in _SECRET.findall(url))]
    return sorted({each for secret in found if secret for each in (secret, unquote(secret))}, key=len, reverse=True)


def _without_password(url: str) -> str:
    """Mask the password of a URL.

    >>> _without_password("postgresql://ann:se:cret@host/sales?sslpassword=x&a=1")
    'postgresql://ann:***@host/sales?sslpassword=***&a=1'
    """
    password = _password(url)
    pattern = _SECRET if "://" in url else _SECRET_OF_LIBPQ
    return pattern.sub(r"\1***", url.replace(f":{password}@", ":***@", 1) if password else url)


def _password(url: str) -> str:
    """Return the part before the last @ that may be a password."""
    before, _, after = url.rpartition("@")[0].partition("://")
    return (after or before).partition(":")[2]


@attrs.frozen
class Name:
    """The name of a table, in a schema of the database or in the default one."""

    table: str
    schema: str | None = None

    @classmethod
    def of(cls, module: str, given: Any, kind: str) -> "Name":
        """Parse a user's name, or pair of schema and name; anything else is refused."""
        parts: tuple[Any, ...] = cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given,)
        if len(parts) not in {1, 2} or not all(isinstance(part, str) and part and "\0" not in part for part in parts):
            raise Call(module).refuse(f"needs the name of a table, or a pair (schema, table), but got {given!r}")
        if len(parts) == 1 and "." in parts[0] and kind in {"sqlite", "duckdb", "postgresql"}:
            name: str = parts[0]
            schema, _, table = name.rpartition(".")
            pair = ("main", name) if kind == "sqlite" and folded(schema) != "main" else (schema, table)
            example = f", {pair!r}," if all(pair) else ""
            raise Call(module).refuse(
                f"got the name {given!r}: give the schema and the name as a pair{example} also for a table whose own "
                f"name has a dot"
            )
        if len(parts) == 2 and kind == "sqlite":
            if folded(parts[0]) != "main":
                raise Call(module).refuse(f"got {given!r}: SQLite has only the schema 'main'. Give the table's name")
            parts = parts[1:]
        if long := [part for part in parts if kind == "postgresql" and len(part.encode(errors="replace")) > 63]:
            raise Call(module).refuse(f"got the name {long[0]!r}: PostgreSQL cuts names off after 63 bytes")
        if wrong := [part for part in parts if kind in {"delta", "iceberg"} and _FOLDER.fullmatch(part) is None]:
            raise Call(module).refuse(
                f"got the name {wrong[0]!r}: a table is a folder of that name, which must not contain slashes or "
                f"control characters, or begin with a dot or an underscore"
            )
        if folded(parts[-1]).startswith(OWN):
            raise Call(module).refuse(f"got {given!r}: names that begin with {OWN} are reserved for its records")
        return cls(parts[-1], parts[0] if len(parts) == 2 else None)

    @property
    def sql(self) -> str:
        """The quoted name."""
        return self.beside(self.table)

    def folder(self, lake: str) -> Path:
        """Return the folder of the table in a folder of tables."""
        return Path(lake, self.schema or "", self.table)

    def beside(self, table: str) -> str:
        """Return the quoted name of another table in the same schema."""
        return quoted(table) if self.schema is None else f"{quoted(self.schema)}.{quoted(table)}"

    def __str__(self) -> str:
        return self.table if self.schema is None else f"{self.schema}.{self.table}"


Mode: TypeAlias = Literal["append", "upsert", "replace_time"]


@attrs.frozen
class RowsPlan:
    """The arguments of the sink."""

    target: Address
    name: Name
    mode: Mode = "append"
    keys: tuple[str, ...] = ()
    time: str | None = None
    schema: Any = None

    @property
    def shown(self) -> str:
        """The table, for messages."""
        return f"the table {str(self.name)!r} in {self.target.shown}"

    def refused(self, why: str) -> SchemaError:
        """Return the error about a value or a column."""
        return SchemaError(f"write_rows() to {self.shown}: {why}")

    def failed(self, why: str) -> TableError:
        """Return the error about a time."""
        return TableError(f"write_rows() to {self.shown}, {why}")
