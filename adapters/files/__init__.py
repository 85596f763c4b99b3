r"""Read files as streams, and write one file per completed time, whole or not at all.

>>> import tempfile, pullstream as ps
>>> from pullstream import files
>>> with tempfile.TemporaryDirectory() as folder:
...     days = ps.values([{"day": 1, "n": 5}, {"day": 2, "n": 7}], time=lambda row: row["day"])
...     paths = ps.run(ps.pipe(days, files.write_jsonl(f"{folder}/{{time}}.jsonl")))
...     [(path.name, path.read_text()) for path in paths]
[('1.jsonl', '{"day": 1, "n": 5}\n'), ('2.jsonl', '{"day": 2, "n": 7}\n')]
"""

from pullstream.authoring import publish

from ..arrow import SchemaError
from .names import FsspecMissing
from .reading.csv import read_csv
from .reading.errors import FileChangedError, FileReadError, NoColumnError, NoFilesError
from .reading.jsonl import read_jsonl
from .reading.options import Options
from .reading.parquet import read_arrow, read_parquet
from .reading.text import read_bytes, read_text
from .reading.times import PathTime, name_time, path_time
from .writing.committing import WriteOptions
from .writing.lines import write_bytes, write_jsonl, write_text
from .writing.refusals import FileBusyError, FileTargetError
from .writing.tables import write_arrow, write_csv, write_parquet

__all__ = [
    "FileBusyError",
    "FileChangedError",
    "FileReadError",
    "FileTargetError",
    "FsspecMissing",
    "NoColumnError",
    "NoFilesError",
    "Options",
    "PathTime",
    "SchemaError",
    "WriteOptions",
    "name_time",
    "path_time",
    "read_arrow",
    "read_bytes",
    "read_csv",
    "read_jsonl",
    "read_parquet",
    "read_text",
    "write_arrow",
    "write_bytes",
    "write_csv",
    "write_jsonl",
    "write_parquet",
    "write_text",
]
publish(__name__)
