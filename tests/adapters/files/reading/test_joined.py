"""Parquet and Arrow files joined end to end are an error, and no other file is mistaken for one."""

import io

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from adapters import files
from adapters.files.reading.errors import FileReadError


def parquet(rows, **options):
    data = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array(rows, pa.int64()), "s": [f"{n}" for n in rows]}), data, **options)
    return data.getvalue()


def arrow(rows, size=3, **options):
    data = io.BytesIO()
    table = pa.table({"n": pa.array(rows, pa.int64()), "s": pa.array([f"{n % 2}" for n in rows]).dictionary_encode()})
    with pa.ipc.new_file(data, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table, max_chunksize=size)
    return data.getvalue()


WAYS = [
    ("parquet", files.read_parquet, parquet, {}),
    ("parquet indexed", files.read_parquet, parquet, {"write_page_index": True, "row_group_size": 3}),
    ("parquet plain", files.read_parquet, parquet, {"use_dictionary": False, "compression": "none"}),
    ("arrow", files.read_arrow, arrow, {}),
    ("arrow compressed", files.read_arrow, arrow, {"compression": "zstd", "unify_dictionaries": True}),
    ("arrow as it was", files.read_arrow, arrow, {"use_legacy_format": True}),
]


@pytest.mark.parametrize(("reader", "make", "options"), [way[1:] for way in WAYS], ids=[way[0] for way in WAYS])
class TestJoined:
    # ruff: noqa: PLR0917 - pytest gives them by name
    @pytest.mark.parametrize("counts", [(5, 5), (5, 900), (900, 5), (0, 5), (5, 0), (5, 5, 5), (900, 900)])
    def test_joined_files_are_refused(self, reader, make, options, counts, put, read):
        """Whichever part is larger, and also without rows."""
        path = put("data", b"".join(make(list(range(count)), **options) for count in counts))
        with pytest.raises(FileReadError, match="consists of several .* files joined end to end"):
            read(reader(path))

    @pytest.mark.parametrize("count", [0, 1, 5, 900])
    def test_a_single_file_is_read(self, reader, make, options, count, put, read):
        """Indexes, dictionaries and many small batches are not mistaken for a preceding file."""
        assert len(read(reader(put("data", make(list(range(count)), **options))))) == count


def test_the_bytes_of_a_files_end_may_be_a_value(put, read):
    """A value that looks like the end of a file is none."""
    data = io.BytesIO()
    rows = ["PAR1PAR1", "\x05\x00\x00\x00PAR1PAR1"] * 3
    pq.write_table(pa.table({"s": rows}), data, write_page_index=True, use_dictionary=False, compression="none")
    assert [row.s for row in read(files.read_parquet(put("data", data.getvalue())))] == rows
