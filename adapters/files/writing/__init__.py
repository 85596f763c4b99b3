"""Writing files: one per completed time, whole or not at all."""

from adapters.arrow import SchemaError
from adapters.files.urls import FsspecMissing
from adapters.files.writing.composing import WriteOptions
from adapters.files.writing.errors import FileBusyError, FileTargetError
from adapters.files.writing.jsonl import write_jsonl
from adapters.files.writing.tables import write_arrow, write_csv, write_parquet
from adapters.files.writing.text import write_bytes, write_text

__all__ = [
    "FileBusyError",
    "FileTargetError",
    "FsspecMissing",
    "SchemaError",
    "WriteOptions",
    "write_arrow",
    "write_bytes",
    "write_csv",
    "write_jsonl",
    "write_parquet",
    "write_text",
]
