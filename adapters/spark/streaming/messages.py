"""Messages between the two sides of a streaming query: each of Spark's side waits for one reply."""

from enum import Enum
from typing import Any, TypeAlias

import attrs


@attrs.frozen
class Began:
    """A micro-batch begins; Spark gives a crashed one the number that it had."""

    batch: int
    query: str
    """The query's identity: as long as its checkpoint is the same, it is this."""


@attrs.frozen
class Read:
    """A part of its rows."""

    values: list[Any]


@attrs.frozen
class Over:
    """The end of its rows."""


@attrs.frozen
class Broken:
    """A failure to read it."""

    failure: BaseException


Message: TypeAlias = Began | Read | Over | Broken


class Reply(Enum):
    """An answer of the pull side."""

    GO_ON = "go on"
    COMMIT = "commit"
    """The answer that everything this micro-batch leads to is complete."""
    STOP = "stop"
