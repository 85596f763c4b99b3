"""The place in a program where a module was composed."""

import inspect
from functools import cache
from types import FrameType
from typing import Self

import attrs

from pullstream.frames import is_ours


@attrs.frozen
class Site:
    """The line of the user's program that composed a module, for error messages."""

    filename: str
    line: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"

    @classmethod
    def here(cls) -> Self:
        """Return the innermost line outside the toolkit."""
        frame: FrameType = inspect.currentframe()  # type: ignore[assignment]  # CPython always has one
        while frame.f_back is not None and _passes_on(str(frame.f_globals.get("__name__", _GENERATED))):
            frame = frame.f_back
        return cls(frame.f_code.co_filename, frame.f_lineno)


_GENERATED = "pullstream"
"""The module name assumed for code without one, which the toolkit has generated."""


@cache
def _passes_on(module: str) -> bool:
    # pyspark calls user functions, as in `df.transform(...)`.
    return is_ours(module) or module.partition(".")[0] == "pyspark"
