"""`timeout`: a limit on how long an ask may be outstanding."""

from typing import Any

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Seconds
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.pass_through import Passing
from pullstream.errors import AskTimeout
from pullstream.protocol import Batch, Done, Unanswered


class _Timeout(Passing):
    traits = attrs.evolve(Passing.traits, clocked=True)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._over = False

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        # Unless the answer arrived in the same scheduler step as the deadline.
        if self._over and self.slot is None:
            raise AskTimeout(
                f"{self.location}: upstream did not answer within {self._seconds} s. Ask for less at a time, allow "
                f"more time, or see what it waits for with progress.explain()",
            )
        return super().poll(limit)

    @override
    async def wait(self) -> None:
        with trio.move_on_after(self._seconds) as scope:
            await self.change(outside=True)
        self._over = scope.cancelled_caught


@transformer
def timeout(seconds: Seconds) -> Same[V]:
    """Fail with `AskTimeout`, a `TimeoutError`, if upstream does not answer an ask within `seconds`.

    >>> import trio, pullstream as ps
    >>> async def stuck(n):
    ...     await trio.sleep_forever()
    >>> ps.run(ps.pipe(ps.once(1), ps.map_async(stuck, 1), ps.timeout(0.01), ps.collect()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    pullstream.errors.AskTimeout: timeout, composed at ...: upstream did not answer within 0.01 s...

    The time runs on trio's clock from each ask to its first value; it does not run while no ask is outstanding. On a
    timeout, upstream is notified (R8) and released.
    """
    return opens(_Timeout(seconds))
