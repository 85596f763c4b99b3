"""Reading files: sources of text, bytes, CSV, JSON Lines, Parquet and Arrow IPC."""

from adapters.files.reading.csv import read_csv
from adapters.files.reading.errors import FileChangedError, FileReadError, NoColumnError, NoFilesError
from adapters.files.reading.jsonl import read_jsonl
from adapters.files.reading.options import Options
from adapters.files.reading.parquet import read_arrow, read_parquet
from adapters.files.reading.text import read_bytes, read_text
from adapters.files.reading.times import PathTime, name_time, path_time

__all__ = [
    "FileChangedError",
    "FileReadError",
    "NoColumnError",
    "NoFilesError",
    "Options",
    "PathTime",
    "name_time",
    "path_time",
    "read_arrow",
    "read_bytes",
    "read_csv",
    "read_jsonl",
    "read_parquet",
    "read_text",
]
