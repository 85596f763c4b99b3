r"""Read tables of databases, and write them exactly once: one transaction per completed time.

>>> import sqlite3, tempfile, pullstream as ps
>>> from pullstream import tables
>>> with tempfile.TemporaryDirectory() as folder:
...     days = ps.values([{"day": 1, "n": 5}, {"day": 2, "n": 7}], time=lambda row: row["day"])
...     times = ps.run(ps.pipe(days, tables.write_rows(f"{folder}/days.db", "days")))
...     times, list(sqlite3.connect(f"{folder}/days.db").execute("select * from days"))
([1, 2], [(1, 5), (2, 7)])
"""

from pullstream.authoring import publish

from ..arrow import ArrowMissing, NullTimeError, SchemaError
from .errors import TableBusyError, TableError
from .reading import read_changes, read_rows
from .writing import write_rows

__all__ = [
    "ArrowMissing",
    "NullTimeError",
    "SchemaError",
    "TableBusyError",
    "TableError",
    "read_changes",
    "read_rows",
    "write_rows",
]
publish(__name__)
