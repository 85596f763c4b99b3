"""Programs, as journals know them, and which may go on with a journal."""

from collections.abc import Mapping
from pathlib import Path

import attrs

from pullstream.blueprint import Blueprint
from pullstream.errors import JournalError
from pullstream.journal.code import PYTHON
from pullstream.journal.fingerprint import Line, difference, fingerprint

_OTHERWISE = "Run the one it belongs to, or begin anew with another journal"


@attrs.frozen
class Program:
    """A pipeline as it is in one version of a program."""

    lines: Mapping[str, Line]
    python: str
    version: str | None
    """The user's word for it, with which its functions are not compared."""

    @classmethod
    def of(cls, pipeline: Blueprint, version: str | None) -> "Program":
        """The program of a pipeline that is about to run."""
        return cls(fingerprint(pipeline), PYTHON, version)

    def check(self, before: "Program | None", path: Path) -> None:
        """Refuse to go on with a journal that another program has written; `before` is None if none has.

        Raises:
            JournalError: it is another one, or nobody can tell.
        """
        if self.version is None:
            self._check_known(path)
        if before is None:
            return
        if self.version is not None and before.version not in {None, self.version}:
            raise JournalError(
                f"the journal {path} was written by version {before.version!r} of the program, and this is version "
                f"{self.version!r}. {_OTHERWISE}"
            )
        by_name = self.version is not None or before.python != self.python
        different = self._difference(before, names=by_name)
        if different and by_name:
            raise JournalError(f"the journal {path} belongs to another pipeline: {different}. {_OTHERWISE}")
        if different:
            raise JournalError(
                f"the journal {path} belongs to another pipeline: {different}. {_OTHERWISE}; or, if what has been "
                f"completed is right all the same, say so: {_said(path)}"
            )
        if self.version is None and by_name:
            raise JournalError(
                f"the journal {path} was written under {before.python}, and this is {self.python}: nobody can tell "
                f"whether functions are the same under both. Finish it with the other, begin anew with another "
                f"journal or, if they are, say so: {_said(path)}"
            )

    def _difference(self, before: "Program", *, names: bool) -> str:
        return difference(dict(before.lines), dict(self.lines), names=names)

    def _check_known(self, path: Path) -> None:
        for place, line in self.lines.items():
            if line.unknown and not any(other.startswith(f"{place}.") for other in self.lines):
                raise JournalError(
                    f"module {place}, {line.shown}, composed at {line.site}, was given what cannot be told from other "
                    f"things of its kind in a later run: {', '.join(line.unknown[:3])}. So nobody could say whether "
                    f"that run goes on with the journal {path} as the same program: say which version of it this is, "
                    f"{_said(path)}, and another one whenever it does other things"
                )

    def kept(self) -> "Program":
        """The lines that a journal keeps of it: where it is written is no part of it."""
        return attrs.evolve(self, lines={place: attrs.evolve(line, site=None) for place, line in self.lines.items()})


def _said(path: Path) -> str:
    return f"journal=Journal({path.name!r}, version=...)"
