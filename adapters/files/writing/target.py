"""Targets: paths or URLs with fields for the time and key of a file."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import date
from itertools import repeat
from os.path import normpath
from pathlib import Path
from string import Formatter
from typing import Any, Final
from unicodedata import normalize

import attrs
from typing_extensions import override

from pullstream.authoring import Call

from ..names import is_hidden, not_a_name, too_long
from .refusals import FileTargetError

_FIELDS = frozenset({"time", "key"})

_FILLED: Final = "\0"
"""Marks the places of fields; no target contains it."""
_ANY: Final[Any] = object()
"""A placeholder for any key."""


class _Filled(Formatter):
    """Fills in a template; each value becomes one path part, or a piece of one."""

    @override
    def format_field(self, value: Any, format_spec: str) -> str:
        # A separator in the template itself, as in "{time:%Y/%m}", is intended: each part of the format is one name.
        return "/".join(map(self._part, repeat(value), format_spec.split("/")))

    def _part(self, value: Any, format_spec: str) -> str:
        text: str = super().format_field(value, format_spec)
        if why := not_a_name(text):
            raise ValueError(f"{why}; use values whose text is a valid file name")
        return text


def _fields(template: str) -> set[str]:
    """The names of a template's fields, including fields inside formats."""
    fields: set[str] = set()
    for _, name, spec, _ in Formatter().parse(template):
        if name is not None:
            fields |= {name.split(".")[0].split("[")[0]} | _fields(spec or "")
    return fields


def _sample(template: str, filler: str = "x") -> str:
    """The template with a filler in place of every field."""
    sample = ""
    for literal, name, spec, _ in Formatter().parse(template):
        filled = "" if name is None else "/".join([filler] * (1 + (spec or "").count("/")))
        sample += literal + filled
    return sample


def _empty_format(template: str) -> str | None:
    """A field whose format has an empty part before or after a separator."""
    for _, name, spec, _ in Formatter().parse(template):
        if name is not None and spec and "/" in spec and not all(spec.split("/")):
            return f"{{{name}:{spec}}}"
    return None


def is_url(text: str) -> bool:
    """Whether a target is a URL for fsspec."""
    return "://" in text or "::" in text


@attrs.frozen
class Target:
    """A template; `fields` says which of `time` and `key` it contains."""

    module: str
    template: str
    fields: frozenset[str]

    @classmethod
    def of(cls, module: str, template: Any) -> "Target":
        """Make a target; a template that cannot name files is refused."""
        text: Any = template.__fspath__() if hasattr(template, "__fspath__") else template
        given = f"got the target {text!r}"
        refuse = Call(module).refuse
        if not isinstance(text, str) or not text or text.endswith("/") or "\0" in text:
            raise refuse(f"{given}, which does not name a file; write one like 'out/{{time}}.jsonl'")
        text = text.removeprefix("file://").removeprefix("local://")
        try:
            fields = _fields(text)
        except ValueError as exc:
            raise refuse(f"{given}: {exc}; write {{{{ for a literal brace") from None
        if extra := ", ".join(f"{{{name}}}" for name in sorted(fields - _FIELDS)):
            raise refuse(f"{given}: unknown field {extra}; use {{time}} and {{key}}")
        if wrong := _empty_format(text):
            raise refuse(
                f"{given}: the format of {wrong} has an empty part beside a /; each part of a format must give the "
                f"name of a folder or of the file, as in {{time:%Y/%m}}"
            )
        sample = _sample(text, _FILLED)
        above = sample.partition(_FILLED)[0].count("/")
        # It would undo the separation of times and keys.
        if fields and ".." in sample.split("/")[above:]:
            raise refuse(
                f"{given}: .. after a field leads out of the folder that the field names; write the target without it"
            )
        return cls(module, text, frozenset(fields))

    @property
    def grows(self) -> bool:
        """Whether times share a file."""
        return "time" not in self.fields

    @property
    def is_url(self) -> bool:
        """Whether it is a URL for fsspec."""
        return is_url(self.template)

    @property
    def root(self) -> str:
        """The folder that contains all files, directly or in subfolders."""
        first = _sample(self.template, _FILLED).partition(_FILLED)[0]
        if first.endswith("://"):
            return first
        folder, slash, _ = first.rpartition("/")
        return folder or (slash or ".")

    @property
    def samples(self) -> Sequence[str]:
        """Example paths, which show what is common to all paths of this target."""
        return [_sample(self.template, filler) for filler in ("aaaa", "0000", "\x01\x01\x01\x01")]

    def place(self, values: Mapping[str, Hashable]) -> str:
        """The file for a time and a key."""
        try:
            path = _Filled().vformat(self.template, (), values)
            for name, sample in zip(path.split("/"), _sample(self.template).split("/"), strict=True):
                if name != sample:
                    self._check(name, sample)
        except (ValueError, LookupError, AttributeError, TypeError) as exc:
            shown = " and ".join(f"the {name} {value!r}" for name, value in values.items() if name in self.fields)
            kind = "" if type(exc) is ValueError else f"{type(exc).__name__}: "
            undated = "{time:%" in self.template and not isinstance(values.get("time"), date)
            raise FileTargetError(
                f"{self.module}: {shown} cannot be part of a file name in {self.template!r}: {kind}{exc}"
                + ". The times must be dates or datetimes: make them with map_time(...) upstream" * undated
            ) from None
        return path

    def _check(self, name: str, sample: str) -> None:
        """Refuse an invalid name, and one that readers of the folder would skip because of the fields in it."""
        if self.is_url:
            # Object stores have other limits, and report them.
            name.encode()
        elif too_long(name):
            raise ValueError(f"{name!r} is too long for a file name; use shorter times and keys")
        if is_hidden(name) and not is_hidden(sample):
            raise ValueError(
                f"{name!r} is the name of a hidden or unfinished file, so readers of the folder would skip it; put "
                f"text before the field, as in 'k={{key}}'"
            )


class Names:
    """The file names of a run; two times or keys must not share one."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.folds = False
        """Whether the file system ignores the case of letters in names."""
        self.plain: Callable[[str], str] = normpath
        """Normalizes a path."""
        self._taken: dict[bytes, tuple[Hashable, Hashable]] = {}

    def __contains__(self, path: str) -> bool:
        """Whether a path, written as in the target, is one of these files."""
        return self._name(path) in self._taken

    def keep(self, path: str, time: Hashable = None, key: Hashable = _ANY) -> None:
        """Add a file of an earlier run with the same journal."""
        self._taken[self._name(path)] = (time, key)

    def of(self, time: Hashable, key: Hashable) -> str:
        """The path for a time and key."""
        path = self._target.place({"time": time, "key": key})
        mine = (None if self._target.grows else time, key)
        other = self._taken.setdefault(self._name(path), mine)
        if other != mine:
            number = 0 if other[0] != mine[0] else 1
            what = f"the {('times', 'keys')[number]} {other[number]!r} and {mine[number]!r}"
            merged = " or, if intended, merge the times first: ps.map_time(lambda time: ...)"
            raise FileTargetError(
                f"{self._target.module}: {what} would share the file {path}; give them different names"
                f"{'' if number else merged}"
            )
        return path

    def _name(self, path: str) -> bytes:
        """A path as the file system compares it; different spellings may be one name."""
        path = self.plain(path)
        return (normalize("NFC", path).casefold() if self.folds else path).encode(errors="surrogateescape")


def suffix(target: object) -> str:
    """The last suffix of a target's name: `.csv`, `.gz`."""
    return Path(str(target).replace("{", "").replace("}", "")).suffix
