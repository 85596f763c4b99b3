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

from ..arrow import SchemaError as SchemaError
from .names import FsspecMissing as FsspecMissing
from .reading.csv import read_csv as read_csv
from .reading.errors import (
    FileChangedError as FileChangedError,
    FileReadError as FileReadError,
    NoColumnError as NoColumnError,
    NoFilesError as NoFilesError,
)
from .reading.jsonl import read_jsonl as read_jsonl
from .reading.options import Options as Options
from .reading.parquet import read_arrow as read_arrow, read_parquet as read_parquet
from .reading.text import read_bytes as read_bytes, read_text as read_text
from .reading.times import PathTime as PathTime, name_time as name_time, path_time as path_time
from .writing.committing import WriteOptions as WriteOptions
from .writing.lines import write_bytes as write_bytes, write_jsonl as write_jsonl, write_text as write_text
from .writing.refusals import FileBusyError as FileBusyError, FileTargetError as FileTargetError
from .writing.tables import write_arrow as write_arrow, write_csv as write_csv, write_parquet as write_parquet

publish(__name__)
