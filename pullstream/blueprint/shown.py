"""The text form of modules' arguments."""

import re
from typing import Final

ADDRESS: Final = re.compile(" at 0x[0-9a-fA-F]+")
"""The part of a text that differs from process to process: the address of an object."""


def shown_callable(value: object) -> str:
    """Return the name by which a reader knows a callable."""
    name = getattr(value, "__qualname__", None)
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else repr(value)


def shown_argument(value: object) -> str:
    """Return the text of an argument, shortened."""
    return shortened(shown_callable(value) if callable(value) else repr(value), 40)


def shortened(text: str, longest: int = 200) -> str:
    """Shorten a text to at most `longest` characters."""
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
