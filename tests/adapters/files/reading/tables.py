"""Tables in every format."""

import gzip
import json

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from adapters import files

READERS = {
    "csv": files.read_csv,
    "csv.gz": files.read_csv,
    "jsonl": files.read_jsonl,
    "parquet": files.read_parquet,
    "arrow": files.read_arrow,
    "arrows": files.read_arrow,
}


def write(table, path, kind, rows=500):
    """Write a table, with `rows` rows to a part if the format has parts; return the function that reads it."""
    if kind in {"csv", "csv.gz"}:
        pc.write_csv(table, path)
        if kind == "csv.gz":
            path.write_bytes(gzip.compress(path.read_bytes()))
    elif kind == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    else:
        make = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return READERS[kind]
