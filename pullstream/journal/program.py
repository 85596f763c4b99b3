"""Programs as stored in journals, and the check whether a program may continue with a journal."""

from collections.abc import Mapping
from pathlib import Path

import attrs

from pullstream.blueprint import Blueprint
from pullstream.errors import JournalError
from pullstream.journal.code import PYTHON
from pullstream.journal.fingerprint import Line, difference, fingerprint

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
        """Refuse to continue with a journal that another program has written; `before` is None for a new journal.

        Raises:
            JournalError: the programs differ, or cannot be compared.
        """
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
                    f"compare: {', '.join(line.unknown[:3])}. That run could not know whether it continues the journal "
                    f"{path} as the same program. Give the program a version, {_with_version(path)}, and change the "
                    f"version whenever the program changes"
                )

    def kept(self) -> "ProgramVersion":
        """The program as a journal stores it, without the places in source files."""
        return attrs.evolve(self, lines={place: attrs.evolve(line, site=None) for place, line in self.lines.items()})


def _with_version(path: Path) -> str:
    return f"journal=Journal({path.name!r}, version=...)"
