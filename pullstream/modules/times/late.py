"""The option `late=` of modules that assign times: an error, dropping, or a sink for late values."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import attrs

from pullstream.blueprint import Call, Module, Sink, advice
from pullstream.modules.values.side_branch import SideBranch


@attrs.frozen
class LateOption:
    """The check of `late=`. A sink for late values is added right below the module.

    The module gives a late value as a `mark`, and `plain` makes the value that the sink gets from it.
    """

    mark: type
    plain: Callable[[Any], Any]

    def __call__(self, call: Call, late: Any) -> Any:
        """Return the option, or refuse it."""
        if late not in ("error", "drop") and not isinstance(late, Sink):
            hint = advice(call.module, late, wanted="sink")
            raise call.refuse(f"got late={late!r}: it must be 'error', 'drop' or a sink{hint}")
        if call["lateness"] is None:
            raise call.refuse(
                f"got late={late!r} without lateness=. With lateness=0 (for dates, timedelta(0)), every value behind "
                f"the latest time is late"
            )
        return cast("Any", late)

    def below(self, module: Module, late: Any) -> tuple[Module, ...]:
        """Give the module that passes late values to the sink."""
        if isinstance(late, str):
            return ()
        return (Module("late", partial(_aside, self), (late,), site=module.site, follows=True),)


def _aside(option: LateOption, sink: Sink[Any, Any]) -> SideBranch:
    return SideBranch(sink, option.mark, option.plain)
