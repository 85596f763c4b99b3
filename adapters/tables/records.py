"""The records of a table's writers, and a check that the table, its records and the journal belong together."""

from collections.abc import Hashable
from secrets import token_hex

from .entries import Entry, Recorded, encoded
from .table import TargetTable
from .target import TableError


class Records:
    """The records of one table."""

    def __init__(self, table: TargetTable, journal: str | None) -> None:
        self._table = table
        self._journal = journal
        self._count = 0
        self._recorded = False
        self._id = ""

    @property
    def state(self) -> tuple[str, int]:
        """The table's id and the number of the last commit, for the journal."""
        return self._id, self._count

    def open(self, remembered: tuple[str, int] | None) -> Recorded:
        """Return the record of earlier runs; refuse one that contradicts the state that the journal `remembered`."""
        found = self._table.recorded(self._journal)
        if not found.count:
            if remembered is not None:
                raise self._refusal(
                    f"the journal {self._journal} says that times were committed there, but the database has no record "
                    f"of them: the table was restored, or is another one. Start over with a new journal"
                )
            self._id = token_hex(8)
            return found
        if remembered is not None and remembered[0] == found.id and remembered[1] > found.count:
            raise self._refusal(
                f"the journal {self._journal} says that {remembered[1]} times were committed there, but the database "
                f"has {found.count}: the table was restored to an earlier state. Start over with a new journal"
            )
        self._id, self._count = found.id, found.count
        self._recorded = found.journal is not None or self._journal is None
        if why := self._unfit(found, remembered):
            raise self._refusal(f"{why}. If that is intended, {self._table.forgetting()}")
        return found

    def _unfit(self, found: Recorded, remembered: tuple[str, int] | None) -> str:
        journal = found.journal
        if not self._table.exists:
            return "its records say that times were committed, but the table does not exist"
        if found.restored and (remembered is not None or self._table.plan.mode != "replace_time"):
            return "it was restored to a state without some of the times that its records say were committed"
        if journal is not None and journal != self._journal:
            now = "none" if self._journal is None else f"the journal {self._journal}"
            return f"it was written with the journal {journal}, and this run has {now}: its times may differ"
        if remembered is not None and remembered[0] != self._id:
            return f"the journal {self._journal} belongs to an earlier table of that name"
        return ""

    def _refusal(self, why: str) -> TableError:
        return TableError(f"write_rows() cannot write to {self._table.plan.shown}: {why}")

    def entry(self, time: Hashable, rows: int) -> Entry:
        """Return the record for the next time."""
        return Entry(encoded(time), self._count + 1, rows, self._id, self._journal, not self._recorded)

    def committed(self, id: str) -> None:
        """Note that the record was committed to the table with this id."""
        self._id, self._recorded = id, True
        self._count += 1
