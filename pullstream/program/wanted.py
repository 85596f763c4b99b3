"""Optional parts of a run (`check=`, `journal=`, `trace=`), loaded only by runs that use them."""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.checker.pipeline import Check as Check, Checker as Checker, checker_for as checker_for
    from pullstream.journal.keeper import Keeper as Keeper
    from pullstream.journal.store import Journal as Journal
    from pullstream.trace.notes import TraceTo as TraceTo
    from pullstream.trace.tracer import Tracer as Tracer
else:
    __getattr__, __dir__, __all__ = late(__name__)
