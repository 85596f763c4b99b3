"""Programs as journals store them: fingerprints of their modules, and whether a program may continue with a journal."""

import re
from collections.abc import Mapping, Sequence, Set as AbstractSet
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import attrs

from pullstream.blueprint import Blueprint, Module, OneShot, Site, shortened, shown_callable
from pullstream.blueprint.shown import ADDRESS
from pullstream.errors import JournalError
from pullstream.journal.code import PYTHON
from pullstream.journal.digest import Look

LONGEST: Final = 200
"""The number of parts of an argument that are shown."""


@attrs.frozen
class Line:
    """The fingerprint of one module."""

    shown: str
    names: bytes
    """A digest in which functions are represented by their names only."""
    digest: bytes
    parts: dict[str, str]
    unknown: tuple[str, ...] = ()
    """The parts that cannot be compared with those of a later run."""
    site: Site | None = attrs.field(default=None, eq=False)


Fingerprint = dict[str, Line]
"""Every module of a pipeline by its place, including modules inside others."""


def fingerprint(blueprint: Blueprint, prefix: str = "") -> Fingerprint:
    """Compute the fingerprint of a pipeline. It is the same in every process.

    >>> import pullstream as ps
    >>> for place, line in fingerprint(ps.pipe(ps.values("ab"), ps.map(str), ps.tee(ps.collect(), ps.drain()))).items():
    ...     print(place, line.shown)
    1 values('ab')
    2 map(str)
    3 tee(..., ...)
    3.1.1 collect()
    3.2.1 drain()
    """
    lines: Fingerprint = {}
    for number, module in enumerate(blueprint.modules, 1):
        place = f"{prefix}{number}"
        inside: list[Blueprint] = []
        shown = _module(module, inside)
        names, look = Look(names=True), Look()
        by_names = names.digest(names.module(module), shown)
        digest = look.digest(look.module(module), shown)
        lines[place] = Line(shown, by_names, digest, look.parts, tuple(look.unknown), module.site)
        for count, inner in enumerate(inside, 1):
            lines |= fingerprint(inner, f"{place}.{count}.")
    return lines


def difference(before: Fingerprint, now: Fingerprint, *, names: bool = False) -> str:
    """Describe how two pipelines differ. The text is empty if they are the same or, with `names`, look the same."""
    changes: dict[str, str] = {}
    for place in dict.fromkeys([*before, *now]):
        was, is_now = before.get(place), now.get(place)
        if was is None:
            changes[place] = f"module {place}, {now[place].shown}, is new"
        elif is_now is None:
            changes[place] = f"module {place} was {was.shown} and is gone"
        elif (was.names != is_now.names) if names else (was.digest != is_now.digest):
            changes[place] = _change(place, was, is_now)
    # A change inside a nested module is described at that module's place, not also at the outer one's.
    texts = [text for place, text in changes.items() if not any(other.startswith(f"{place}.") for other in changes)]
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")


def _change(place: str, was: Line, now: Line) -> str:
    if was.shown != now.shown:
        return f"module {place} was {was.shown} and is now {now.shown}"
    parts = [_part(part, was.parts.get(part), now.parts.get(part)) for part in dict.fromkeys([*was.parts, *now.parts])]
    # An argument differs because one of its own parts does; that part says more.
    texts = [part for part in parts if part and not part.startswith("its argument")] or [*filter(None, parts)]
    listed = ", ".join(texts[:3]) + (", and more" if len(texts) > 3 else "")
    return f"module {place}, {now.shown}, looks the same but has changed: {listed or 'the class that makes it'}"


def _part(part: str, was: str | None, now: str | None) -> str:
    if was == now:
        return ""
    if was is None or now is None:
        return f"{part} is {'new' if was is None else 'gone'}"
    plain = all(re.fullmatch(r"[\w.+-]{1,20}", text) for text in (was, now))
    return f"{part} was {was} and is now {now}" if plain else f"{part} has changed"


def _module(module: Module, inside: list[Blueprint]) -> str:
    arguments = [_shown(arg, inside) for arg in module.args]
    arguments += [f"{name}={_shown(value, inside)}" for name, value in module.options]
    label = "" if module.label is None else f".named({module.label!r})"
    return f"{module.name}({', '.join(arguments)}){label}"


def _shown(value: object, inside: list[Blueprint]) -> str:
    """Show an argument as text that is the same in every process. Blueprints in it are added to `inside`."""
    if isinstance(value, Blueprint):
        inside.append(value)
        return "..."
    if isinstance(value, (list, tuple)):
        return shortened(f"({', '.join(_shown(part, inside) for part in cast('Sequence[object]', value)[:LONGEST])})")
    if isinstance(value, Mapping):
        pairs = islice(cast("Mapping[Any, object]", value).items(), LONGEST)
        return shortened(f"{{{', '.join(f'{_shown(key, inside)}: {_shown(part, inside)}' for key, part in pairs)}}}")
    if isinstance(value, AbstractSet):
        return shortened(
            f"{{{', '.join(sorted(_shown(part, inside) for part in cast('AbstractSet[object]', value)))}}}"
        )
    one_shot = isinstance(value, OneShot)
    text = shown_callable(value) if callable(value) and not one_shot else repr(cast("object", value))
    return shortened(ADDRESS.sub("", text))


_OTHERWISE = "Run the one it belongs to, or start over with another journal"


@attrs.frozen
class ProgramVersion:
    """A pipeline in one version of a program."""

    lines: Mapping[str, Line]
    python: str
    version: str | None
    """The version that the user gives, if any. Functions are then not compared."""

    @classmethod
    def of(cls, pipeline: Blueprint, version: str | None) -> "ProgramVersion":
        """Make the program of a pipeline that is about to run."""
        return cls(fingerprint(pipeline), PYTHON, version)

    def check(self, before: "ProgramVersion | None", path: Path) -> None:
        """Refuse a journal of another program, or of one that cannot be compared; `before` is None for a new one."""
        if self.version is None:
            self._check_known(path)
        if before is None:
            return
        if self.version is not None and before.version not in {None, self.version}:
            raise JournalError(
                f"the journal {path} was written by version {before.version!r} of the program, but this is version "
                f"{self.version!r}. {_OTHERWISE}"
            )
        by_name = self.version is not None or before.python != self.python
        different = difference(dict(before.lines), dict(self.lines), names=by_name)
        if different and by_name:
            raise JournalError(f"the journal {path} belongs to another pipeline: {different}. {_OTHERWISE}")
        if different:
            raise JournalError(
                f"the journal {path} belongs to another pipeline: {different}. {_OTHERWISE}. If the completed results "
                f"are still right, give the program a version: {_with_version(path)}"
            )
        if self.version is None and by_name:
            raise JournalError(
                f"the journal {path} was written under {before.python}, but this is {self.python}: functions cannot be "
                f"compared between the two. Finish the run under {before.python}, or start over with another journal. "
                f"If the functions are the same, give the program a version: {_with_version(path)}"
            )

    def _check_known(self, path: Path) -> None:
        for place, line in self.lines.items():
            if line.unknown and not any(other.startswith(f"{place}.") for other in self.lines):
                raise JournalError(
                    f"module {place}, {line.shown}, composed at {line.site}, has arguments that a later run cannot "
                    f"compare: {', '.join(line.unknown[:3])}. That run could not tell whether it continues the journal "
                    f"{path} as the same program. Give the program a version, {_with_version(path)}, and change the "
                    f"version whenever the program changes"
                )

    def kept(self) -> "ProgramVersion":
        """The program as a journal stores it, without the places in source files."""
        return attrs.evolve(self, lines={place: attrs.evolve(line, site=None) for place, line in self.lines.items()})


def _with_version(path: Path) -> str:
    return f"journal=ps.Journal({str(path)!r}, version=...)"
