"""Optional parts of a run (`check=`, `journal=`, `trace=`), loaded only by runs that use them."""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.checker.pipeline import Check, Checker, checker_for
    from pullstream.journal.keeper import Keeper
    from pullstream.journal.store import Journal
    from pullstream.trace.notes import TraceTo
    from pullstream.trace.tracer import Tracer
else:
    __getattr__, __dir__ = late(
        __name__,
        {
            "pullstream.checker.pipeline": "Check Checker checker_for",
            "pullstream.journal.keeper": "Keeper",
            "pullstream.journal.store": "Journal",
            "pullstream.trace.notes": "TraceTo",
            "pullstream.trace.tracer": "Tracer",
        },
    )

__all__ = ["Check", "Checker", "Journal", "Keeper", "TraceTo", "Tracer", "checker_for"]
