"""Where a time's and a key's file goes: a path, or a URL, with fields in it."""

import os
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Any, Final

import attrs
from typing_extensions import override

from adapters.files.writing.errors import FileTargetError
from pullstream import CompositionError
from pullstream.blueprint import Site

_FIELDS = frozenset({"time", "key"})

_ANY: Final[Any] = object()
"""Whichever key it was."""


class _Filled(Formatter):
    """Fills in a template; what is filled in must stay in its place."""

    @override
    def format_field(self, value: Any, format_spec: str) -> str:
        text: str = super().format_field(value, format_spec)
        # A separator that the template itself gives, "{time:%Y/%m}", is meant.
        if text in {"", ".", ".."} or "\0" in text or ("/" not in format_spec and ("/" in text or os.sep in text)):
            raise ValueError
        # Not all that Python calls text is text.
        os.fsencode(text)
        return text


def _fields(template: str) -> set[str]:
    """The names of a template's fields, those inside a field's format too."""
    fields: set[str] = set()
    for _, name, spec, _ in Formatter().parse(template):
        if name is not None:
            fields |= {name.split(".")[0].split("[")[0]} | _fields(spec or "")
    return fields


def _leads_back(template: str) -> bool:
    """Whether there is a `..` where times and keys are to be kept apart."""
    parts = list(Formatter().parse(template))
    first = next((number for number, (_, name, _, _) in enumerate(parts) if name is not None), None)
    if first is None:
        return False
    above = "".join(literal for literal, _, _, _ in parts[: first + 1]).count("/")
    filled = "".join(literal + ("" if name is None else "x") for literal, name, _, _ in parts)
    return ".." in filled.split("/")[above:]


def is_url(text: str) -> bool:
    """Whether a target is fsspec's business."""
    return "://" in text or "::" in text


@attrs.frozen
class Target:
    """A template: `fields` are those of `time` and `key` that it has."""

    module: str
    template: str
    fields: frozenset[str]

    @classmethod
    def of(cls, module: str, template: Any) -> "Target":
        """Refuse, when composing, what cannot name files."""
        where = f"{module}() at {Site.here()}"
        text: Any = template.__fspath__() if hasattr(template, "__fspath__") else template
        if not isinstance(text, str) or not text or text.endswith("/") or "\0" in text:
            raise CompositionError(
                f"{where} got the target {text!r}, which names no file; it looks like 'out/{{time}}.jsonl'"
            )
        text = text.removeprefix("file://").removeprefix("local://")
        try:
            fields = _fields(text)
        except ValueError as exc:
            raise CompositionError(f"{where}, target {text!r}: {exc}; write {{{{ for a brace itself") from None
        if extra := ", ".join(f"{{{name}}}" for name in sorted(fields - _FIELDS)):
            raise CompositionError(f"{where}, target {text!r}: cannot fill in {extra}; there are {{time}} and {{key}}")
        if _leads_back(text):
            raise CompositionError(
                f"{where}, target {text!r}: .. behind a field leads out of the folder that the field names; give a "
                f"target without it"
            )
        return cls(module, text, frozenset(fields))

    @property
    def grows(self) -> bool:
        """Whether times share a file."""
        return "time" not in self.fields

    @property
    def is_url(self) -> bool:
        """Whether it is fsspec's business."""
        return is_url(self.template)

    @property
    def root(self) -> str:
        """The folder in which all files are, or whose subfolders they are in."""
        first = ""
        for literal, name, _, _ in Formatter().parse(self.template):
            first += literal
            if name is not None:
                break
        if first.endswith("://"):
            return first
        folder, slash, _ = first.rpartition("/")
        return folder or (slash or ".")

    def place(self, values: Mapping[str, Hashable]) -> str:
        """The file for a time and a key."""
        try:
            return _Filled().vformat(self.template, (), values)
        except (ValueError, LookupError, AttributeError, TypeError) as exc:
            shown = " and ".join(f"the {name} {value!r}" for name, value in values.items() if name in self.fields)
            why = f"{type(exc).__name__}: {exc}; look at what the fields say" if str(exc) else ""
            raise FileTargetError(
                f"{self.module}: {shown} cannot be part of a file's name in {self.template!r}: "
                f"{why or 'give values whose text has no separators, and is not empty'}",
            ) from None


class Names:
    """The files of a run: two times, or keys, must not share one."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._taken: dict[str, tuple[Hashable, Hashable]] = {}

    def keep(self, path: str, time: Hashable = None, key: Hashable = _ANY) -> None:
        """A file of an earlier run with the same journal."""
        self._taken[path] = (time, key)

    def of(self, time: Hashable, key: Hashable) -> str:
        """The place of a time's, and a key's, file."""
        path = self._target.place({"time": time, "key": key})
        mine = (None if self._target.grows else time, key)
        # Stores of objects have other limits, and say so themselves.
        if not self._target.is_url and len(os.fsencode(path.rpartition("/")[2])) > 255:
            raise FileTargetError(
                f"{self._target.module}: a file system takes no name as long as that of {path!r}: give a target, times "
                f"and keys whose names are shorter"
            )
        other = self._taken.setdefault(path, mine)
        if other != mine:
            number = 0 if other[0] != mine[0] else 1
            what = f"the {('times', 'keys')[number]} {other[number]!r} and {mine[number]!r}"
            merged = " or, if it is meant, make them one time in front: ps.restamp(lambda time: ...)"
            raise FileTargetError(
                f"{self._target.module}: {what} would share the file {path}; give them names that differ"
                f"{'' if number else merged}",
            )
        return path


def suffixes(path: str) -> Sequence[str]:
    """What the name of a file ends in: `.csv`, `.gz`."""
    return Path(path.replace("{", "").replace("}", "")).suffixes
