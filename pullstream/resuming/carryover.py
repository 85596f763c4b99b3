"""The state of a stream that is kept between two instalments."""

from collections.abc import Mapping
from typing import Final

import attrs

from pullstream.resuming.cut import SinkFrontiers
from pullstream.resuming.memory import MemoryChanges, apply
from pullstream.timely import BEGINNING, Antichain

Memories = Mapping[int, Mapping[bytes, bytes]]
"""The memory of each module, keys and values pickled."""

_NOTHING: Final[Memories] = {}


@attrs.frozen
class Carryover:
    """The state of a stream between two instalments, except the values to replay; it can be pickled."""

    frontiers: SinkFrontiers = (Antichain([BEGINNING]),)
    """The times that may still arrive."""
    memory: Memories = _NOTHING
    ledger: Memories = _NOTHING


FRESH: Final = Carryover()
"""A stream at its beginning: no time is done."""


def changed(contents: Memories, node: int, changes: MemoryChanges) -> Memories:
    """Return the contents with the changes of one module's memory."""
    if not changes:
        return contents
    there = dict(contents.get(node, {}))
    apply(changes, there)
    rest = {other: kept for other, kept in contents.items() if other != node}
    return {**rest, node: there} if there else rest
