"""`map_thread`: blocking functions, in threads."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, overload

import trio
from typing_extensions import override

from pullstream.blueprint import Positive, Sync, Transformer
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, B
from pullstream.decorators import opens, transformer
from pullstream.failures import Failed
from pullstream.modules.values.map_async import MapAsync
from pullstream.modules.values.on_error import Handled, OnError


class MapThread(MapAsync):
    """Calls await threads. Each thread holds one of the limiter's tokens until it has finished."""

    def __init__(self, function: Callable[[Any], Any], concurrency: int, **options: Any) -> None:
        super().__init__(self._call, concurrency, **options)
        self._blocking = function
        self._tokens = trio.CapacityLimiter(concurrency)

    async def _call(self, value: Any) -> Any:
        return await trio.to_thread.run_sync(self._blocking, value, abandon_on_cancel=True, limiter=self._tokens)

    @override
    async def release(self) -> None:
        try:
            await super().release()
        finally:
            # Running threads were abandoned. Their resources are released once all of them have finished.
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
    function: Annotated[Callable[[Any], Any], Sync("use map_async(function, concurrency), which needs no thread")],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a blocking function (a driver, a disk) to up to `concurrency` values at the same time, in threads.

    >>> import time, pullstream as ps
    >>> def slowly(n):
    ...     time.sleep(0.01)
    ...     return n * 2
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.map_thread(slowly, concurrency=4), ps.collect()))
    [0, 2, 4, 6]

    Order, demand, failures and `on_error` are as in `map_async`. A call costs about 0.1 ms. The threads share one
    interpreter: use `map_process` for functions that compute in Python.

    Python cannot cancel a thread. When the stream ends, no further calls start, and the end waits for running calls, up
    to the run's `release_timeout`. Then it fails with `ReleaseTimeout` and leaves the threads behind; they do not keep
    the program from exiting. A long-running function can check for cancellation itself with
    `trio.from_thread.check_cancelled()`.
    """
    return opens(MapThread(function, concurrency, ordered=ordered, on_error=on_error))
