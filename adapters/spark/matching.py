"""Comparison of the active session with a program's request: a session cannot be changed, so the two must match."""

from collections.abc import Mapping, Sequence
from typing import Any

from .errors import SessionMismatch


def match(found: Any, wanted: Mapping[str, str], differences: Sequence[str] = ()) -> None:
    """Refuse a session whose settings are not the wanted ones, or that has other known differences.

    Raises:
        SessionMismatch: it differs; the message lists all differences.
    """
    reasons = [*differences]
    for key, value in wanted.items():
        current = found.conf.get(key, None)
        if current != value:
            reasons.append(f"its {key} is {current!r}, not {value!r}")
    if reasons:
        raise SessionMismatch(
            f"a Spark session is already active, and {'; '.join(reasons)}. This cannot be changed in a session: call "
            f"session() without these arguments to use it as it is, or stop() it first",
        )
