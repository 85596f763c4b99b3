r"""Files: read as streams, and written one per completed time, whole or not at all.

>>> import tempfile, pullstream as ps
>>> from adapters import files
>>> with tempfile.TemporaryDirectory() as folder:
...     days = ps.values([{"day": 1, "n": 5}, {"day": 2, "n": 7}], time=lambda row: row["day"])
...     paths = ps.run(ps.pipe(days, files.write_jsonl(f"{folder}/{{time}}.jsonl")))
...     [(path.name, path.read_text()) for path in paths]
[('1.jsonl', '{"day": 1, "n": 5}\n'), ('2.jsonl', '{"day": 2, "n": 7}\n')]
"""

from adapters.files.reading import (
    FileChangedError,
    FileReadError,
    NoColumnError,
    NoFilesError,
    Options,
    PathTime,
    name_time,
    path_time,
    read_arrow,
    read_bytes,
    read_csv,
    read_jsonl,
    read_parquet,
    read_text,
)
from adapters.files.writing import (
    FileBusyError,
    FileTargetError,
    FsspecMissing,
    SchemaError,
    WriteOptions,
    write_arrow,
    write_bytes,
    write_csv,
    write_jsonl,
    write_parquet,
    write_text,
)

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
