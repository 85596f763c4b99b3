"""A key's stream in Spark's state between micro-batches: its waiting rows, and other state."""

import pickle
from collections.abc import Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from pullstream import PullstreamError
from pullstream.authoring import Carryover

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

FORMAT = 1
"""The version of the stored form."""

Cells: TypeAlias = tuple[Any, ...]
"""A row: its time in microseconds, then its columns. For a key: its columns."""


class StateMismatch(PullstreamError):
    """The state in Spark's checkpoint belongs to other transformers."""


@attrs.define
class KeyState:
    """The whole state of a key."""

    key: Cells
    rows: list[Cells]
    """The rows in the order of their times; rows with the same time keep their order of arrival."""
    kept: Carryover | None


class KeyStates:
    """The state of the key that Spark is at.

    New rows are added in one piece, which is read when the stream goes on: so a micro-batch in which nothing becomes
    complete costs its own rows, however many wait. The key is kept with them, as it came with the rows: Spark's timers
    have another idea of it.
    """

    def __init__(self, handle: "StatefulProcessorHandle", program: Sequence[str]) -> None:
        self._rows: Any = handle.getListState("rows", "rows BINARY")
        self._kept: Any = handle.getValueState("kept", "kept BINARY")
        self._program = (FORMAT, tuple(program))

    def add(self, key: Cells, rows: Sequence[Cells]) -> None:
        """Let new rows wait."""
        self._rows.appendValue((_packed(key, rows),))

    def get(self, key: Cells) -> KeyState:
        """All there is.

        Raises:
            StateMismatch: other transformers have kept it.
        """
        parts = [pickle.loads(part) for (part,) in self._rows.get()]  # noqa: S301 - written by this
        rows = sorted((row for _, some in parts for row in some), key=itemgetter(0))
        state = self._kept.get()
        if state is None:
            return KeyState(parts[0][0] if parts else key, rows, None)
        program, key, kept = pickle.loads(state[0])  # noqa: S301 - written by this
        if program != self._program:
            raise StateMismatch(
                f"the checkpoint contains the state of {' -> '.join(program[1])} (format {program[0]}), but this is "
                f"{' -> '.join(self._program[1])} (format {FORMAT}): use a new checkpoint, or run the "
                f"transformers that it belongs to"
            )
        return KeyState(key, rows, kept)

    def put(self, before: KeyState, rows: Sequence[Cells], kept: Carryover | None) -> None:
        """Keep this in place of what there was."""
        if len(rows) < len(before.rows):
            if rows:
                self._rows.put([(_packed(before.key, rows),)])
            else:
                self._rows.clear()
        if kept is not None:
            self._kept.update((pickle.dumps((self._program, before.key, kept), protocol=5),))
        elif before.kept is not None:
            self._kept.clear()


def _packed(key: Cells, rows: Sequence[Cells]) -> bytes:
    return pickle.dumps((key, list(rows)), protocol=5)
