"""Late rows: an error, dropped, or passed to a sink of their own; they stay in columns."""

from typing import Any, cast

from pullstream import Sink
from pullstream.authoring import Call, Module, SideBranch

from ..arrow import ArrowRows


class LateRows(ArrowRows):
    """Late rows on their way to the sink for them."""


class LateOption:
    """The check of `late=`. A sink for late rows is added right below the module."""

    def __call__(self, call: Call, late: Any) -> Any:
        """Return the option, or refuse it."""
        if late not in ("error", "drop") and not isinstance(late, Sink):
            raise call.refuse(f"got late={late!r}: it must be 'error', 'drop' or a sink")
        return cast("Any", late)

    def below(self, module: Module, late: Any) -> tuple[Module, ...]:
        """Give the module that passes late rows to the sink."""
        return () if isinstance(late, str) else (Module("late", _aside, (late,), site=module.site, follows=True),)


def _aside(sink: Sink[Any, Any]) -> SideBranch:
    return SideBranch(sink, LateRows, _plain)


def _plain(rows: LateRows) -> ArrowRows:
    return ArrowRows(rows.batch, rows.form)
