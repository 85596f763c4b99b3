"""`map_thread`: functions that block, in threads."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, overload

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Positive, Sync, Transformer
from pullstream.blueprint.parts import Function
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import Handled, OnError, catches, guarded_async
from pullstream.failures import Failed
from pullstream.modules.values.map_async import MapAsync

A = TypeVar("A")
B = TypeVar("B")


class MapThread(MapAsync):
    """Calls wait for threads of their own, each of which has one of the limiter's tokens until it is done."""

    def __init__(
        self, function: Callable[[Any], Any], concurrency: int, *, ordered: bool, on_error: object = "fail"
    ) -> None:
        super().__init__(guarded_async(self._call) if catches(on_error) else self._call, concurrency, ordered=ordered)
        self._blocking = function
        self._tokens = trio.CapacityLimiter(concurrency)

    async def _call(self, value: Any) -> Any:
        return await trio.to_thread.run_sync(self._blocking, value, abandon_on_cancel=True, limiter=self._tokens)

    @override
    async def release(self) -> None:
        try:
            await super().release()
        finally:
            # Nobody waits for the threads under way any more; what they use is free when they have all ended.
            for _ in range(self._concurrency if self._tokens.borrowed_tokens else 0):
                await self._tokens.acquire_on_behalf_of(object())


@overload
def map_thread(
    function: Function[A, B], concurrency: int, *, ordered: bool = True, on_error: OnError[A] = "fail"
) -> Transformer[A, B]: ...
@overload
def map_thread(
    function: Function[A, B], concurrency: int, *, ordered: bool = True, on_error: Literal["result"]
) -> Transformer[A, B | Failed[A]]: ...
@transformer
def map_thread(
    function: Annotated[Callable[[Any], Any], Sync("map_async(function, concurrency) awaits it, in no thread")],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a function that blocks (a driver, a disk) in threads, to at most `concurrency` values at a time.

    >>> import time, pullstream as ps
    >>> def slowly(n):
    ...     time.sleep(0.01)
    ...     return n * 2
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.map_thread(slowly, concurrency=4), ps.collect()))
    [0, 2, 4, 6]

    Order, demand, failures and `on_error` are those of `map_async`. A call costs some 0.1 ms. The threads share one
    interpreter: what computes in Python goes into `map_process`.

    Python cannot cancel a thread. When the stream ends, calls that have not begun do not begin, and the end waits for
    those under way, up to the run's `release_timeout`; then it fails with `ReleaseTimeout`, and they are left behind
    (they do not keep the program from exiting). A function that takes long can look itself, with
    `trio.from_thread.check_cancelled()`.
    """
    return opens(MapThread(function, concurrency, ordered=ordered, on_error=on_error))
