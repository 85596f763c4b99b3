"""Detection of Parquet and Arrow files that were joined end to end, as by `cat`.

Both formats are read from a footer that locates everything by offset from the beginning. In joined files, these
offsets would silently give rows of the wrong file, or lose some.
"""

import struct
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from ...arrow import pa
from .errors import FileReadError
from .listing import File

_PARQUET: Final = b"PAR1"
_WINDOW: Final = 1 << 20
"""The number of bytes searched at a time."""


def refuse_joined_parquet(file: File, raw: Any, metadata: Any) -> None:
    """Refuse a Parquet file with another one in front of it.

    Only indexes may lie between the last column and the footer. Another file in front adds to that gap, so the search
    for a second beginning covers only as many bytes as the gap has: few or none in a correct file.
    """
    raw.seek(-8, 2)
    end = raw.tell() - _number(raw.read(4))
    behind = end - _end_of_data(metadata)
    for begin in _found(raw, 2 * _PARQUET, behind + len(_PARQUET)):
        if _ends_parquet(raw, begin + len(_PARQUET)):
            raise _joined(file, "Parquet")
    raw.seek(0)


def _end_of_data(metadata: Any) -> int:
    if not metadata.num_row_groups:
        return len(_PARQUET)
    group = metadata.row_group(metadata.num_row_groups - 1)
    columns = [group.column(number) for number in range(group.num_columns)]
    begins = [each.dictionary_page_offset or each.data_page_offset for each in columns]
    sizes = [each.total_compressed_size for each in columns]
    return max(map(int.__add__, begins, sizes), default=len(_PARQUET))


def _found(raw: Any, wanted: bytes, size: int) -> Iterator[int]:
    """The positions of some bytes in the first `size` bytes of a file."""
    for begin in range(0, max(0, size), _WINDOW):
        raw.seek(begin)
        window = raw.read(min(_WINDOW, size - begin) + len(wanted) - 1)
        at = window.find(wanted)
        while at >= 0:
            yield begin + at
            at = window.find(wanted, at + 1)


def _ends_parquet(raw: Any, end: int) -> bool:
    """Whether a Parquet file ends at a position; a value may contain the same bytes."""
    if end < 3 * len(_PARQUET):
        return False
    raw.seek(end - 8)
    size = _number(raw.read(4))
    if size > end - 12:
        return False
    raw.seek(end - 8 - size)
    try:
        pa.parquet.read_metadata(BytesIO(_PARQUET + raw.read(size + 8)))
    except (OSError, ValueError):
        return False
    return True


def refuse_joined_arrow(file: File, raw: Any) -> None:
    """Refuse an Arrow file with another one in front of it, which adds to the gap between last message and footer.

    The footer says where messages end. Only the end of the stream may follow, with padding to a multiple of 64. If
    there are no messages, the gap also contains the schema, which the footer contains too, so the footer's size is a
    bound. The size of the schema's message is unknown, because polars writes the message without it.
    """
    raw.seek(-10, 2)
    size = _number(raw.read(4))
    raw.seek(-10 - size, 2)
    end = raw.tell()
    if end - (_end_of_messages(raw.read(size)) or size) > 8 + 64:
        raise _joined(file, "Arrow")
    raw.seek(0)


def _end_of_messages(footer: bytes) -> int:
    """The end of the last message that an Arrow footer lists in its third and fourth fields; 0 if there is none."""
    (table,) = struct.unpack_from("<I", footer)
    fields = table - struct.unpack_from("<i", footer, table)[0]
    ends = [0]
    (size,) = struct.unpack_from("<H", footer, fields)
    for (field,) in struct.iter_unpack("<H", footer[fields + 8 : fields + min(size, 12)]):
        if field:
            blocks = table + field + struct.unpack_from("<I", footer, table + field)[0] + 4
            (count,) = struct.unpack_from("<I", footer, blocks - 4)
            ends += map(sum, struct.iter_unpack("<qi4xq", footer[blocks : blocks + 24 * count]))
    return max(ends)


def _number(data: bytes) -> int:
    return int.from_bytes(data[:4], "little")


def _joined(file: File, kind: str) -> FileReadError:
    return FileReadError(
        file.path,
        f"consists of several {kind} files joined end to end, of which only the last would be read: store each one in "
        f"its own file",
    )
