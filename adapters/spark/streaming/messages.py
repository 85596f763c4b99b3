"""What the two sides of a streaming query tell each other: every message of Spark's side waits for one reply."""

from enum import Enum
from typing import Any, TypeAlias

import attrs


@attrs.frozen
class Began:
    """A micro-batch begins; Spark gives a crashed one the number that it had."""

    batch: int
    query: str
    """Which query it is of: as long as its checkpoint is the same, it is this."""


@attrs.frozen
class Read:
    """Some of its rows."""

    values: list[Any]


@attrs.frozen
class Over:
    """That was all of it."""


@attrs.frozen
class Broken:
    """It could not be read."""

    failure: BaseException


Message: TypeAlias = Began | Read | Over | Broken


class Reply(Enum):
    """What the pull side answers."""

    GO_ON = "go on"
    COMMIT = "commit"
    """Everything that this micro-batch leads to is complete."""
    STOP = "stop"
