"""An active session beside what a program asks for: a session cannot be changed, so the two have to match."""

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import SessionMismatch


def match(found: Any, wanted: Mapping[str, str], differences: Sequence[str] = ()) -> None:
    """Refuse a session that differs from what is wanted, in its settings or in what is known to be different.

    Raises:
        SessionMismatch: it does; the message lists all of it.
    """
    told = [*differences]
    for key, value in wanted.items():
        current = found.conf.get(key, None)
        if current != value:
            told.append(f"its {key} is {current!r}, not {value!r}")
    if told:
        raise SessionMismatch(
            f"a Spark session is already active, and {'; '.join(told)}. A session cannot be changed so: call "
            f"session() without these to use it as it is, or stop() it first",
        )
