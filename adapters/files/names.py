"""Names of files: which of them say that a file is no data, or not yet, and which the system does not take."""

import os
import re
from typing import Final

UNFINISHED: Final = (".part", ".tmp", ".temp", ".partial", ".crdownload", ".filepart", ".swp", "~")
"""Endings of the names of files that somebody is still writing."""

LONGEST: Final = 255
"""The most bytes that a name may have on nearly every file system."""

_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(\..*)?", re.IGNORECASE)


def is_aside(name: str) -> bool:
    """Whether a name in a folder says that it is not data, or not yet; `_day=1` is a partition."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith(UNFINISHED)


def not_a_name(text: str) -> str | None:
    """The reason why a text is no name of a file or folder of this system, or no part of one; None if it is."""
    if text in {"", ".", ".."}:
        return "it is empty, or leads elsewhere"
    separators = {"/", "\0", os.sep, os.altsep or "/"}
    if any(separator in text for separator in separators):
        return "it has separators in it, or a zero"
    try:
        # Not all that Python calls text is text.
        os.fsencode(text)
    except UnicodeEncodeError:
        return "it is no text, for there is half a character in it"
    if os.name == "nt" and (_DEVICE.fullmatch(text) or text[-1] in " ." or re.search(r'[<>:"|?*\x00-\x1f]', text)):
        return "Windows takes no such name"
    return None


def too_long(name: str) -> bool:
    """Whether a file system takes no such name for its length."""
    return len(os.fsencode(name)) > LONGEST
