"""`rate_limit`, `timeout` and `in_flight`: limits on values per period, on waiting, and on values inside."""

from collections import deque
from collections.abc import Awaitable, Callable
from math import inf
from typing import Annotated, Any, cast

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Count, Emits, Instance, Module, Seconds, Transformer
from pullstream.blueprint.parts import Onward, Same
from pullstream.blueprint.variables import A, B, V
from pullstream.decorators import opens, transformer
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.pass_through import Passing
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.parts.waking import Waking
from pullstream.engine.traits import Traits
from pullstream.errors import AskTimeout
from pullstream.modules.handles.handle import Grip
from pullstream.protocol import NOT_YET, WAIT, Batch, Done, Unanswered


class _RateLimit(Waking[Any], PolledKernel[Any]):
    """Records the moment and size of each answer. A batch that arrives too early waits here, in flight."""

    traits = Traits(trusted=True, clocked=True)

    def __init__(self, count: int, per: float) -> None:
        self._left = count
        self._per = per
        self._answered: deque[tuple[float, int]] = deque()
        self._early: Batch[Any] | None = None
        """The batch that waits here. It has one value, because no more are asked for while none may pass."""

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        self._forget()
        batch = self._early or self.upstream.poll(max(1, min(limit, self._left)))
        if not isinstance(batch, Batch):
            return batch
        self._early = None if self._left else batch
        if self._early:
            return WAIT
        number = len(batch.values)
        self._left -= number
        self._answered.append((trio.current_time(), number))
        self.upstream.settle()
        return batch

    @override
    def wait(self) -> Awaitable[None]:
        return self.sleep_until(self._due) if self._early else self.upstream.ready()

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        if not self._early:
            return self.upstream.wakes(wake)
        self.call_at_change(wake)
        self.change_at(self._due)
        return True

    @property
    def _due(self) -> float:
        """The moment at which the waiting batch may pass."""
        return self._answered[0][0] + self._per

    def _forget(self) -> None:
        now = trio.current_time()
        while self._answered and self._answered[0][0] + self._per <= now:
            self._left += self._answered.popleft()[1]


def _count(call: Call, count: Any) -> Any:
    if isinstance(count, float) and 0 < count < 1:
        raise call.refuse(
            f"got count={count!r}: for less than one value per second, write rate_limit(1, per={1 / count:g})"
        )
    return Count(1)(call, count)


@transformer
@Emits.AT_ONCE
def rate_limit(count: Annotated[int, _count], per: Seconds = 1.0) -> Same[V]:
    """Let at most `count` values pass in any `per` seconds; delay the others, and drop nothing.

    >>> import time, pullstream as ps
    >>> began = time.monotonic()
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.rate_limit(2, per=0.01), ps.collect()))
    ['a', 'b', 'c', 'd', 'e']
    >>> time.monotonic() - began >= 0.02
    True

    `throttle`, `debounce` and `sample` drop values instead. The first `count` values may pass at once. Upstream is
    asked only for as many values as may pass, so it slows down as well. At most one value waits here, in flight, at its
    time.

    In a loop, a repeated call counts again:

    >>> tries = []
    >>> async def fetch(name):
    ...     tries.append(name)
    ...     if tries.count(name) < 2:
    ...         raise OSError("busy")
    ...     return name.upper()
    >>> def again(result):
    ...     return ps.Again(result.value) if isinstance(result, ps.Failed) else result
    >>> calls = ps.pipe(ps.rate_limit(2, per=0.01), ps.map_async(fetch, 2, on_error="result"), ps.map(again))
    >>> sorted(ps.run(ps.pipe(ps.values(["a", "b"]), ps.loop(calls), ps.collect()))), len(tries)
    (['A', 'B'], 4)
    """
    return opens(_RateLimit(count, per))


class _Timeout(Passing):
    traits = attrs.evolve(Passing.traits, clocked=True)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline = inf
        """The moment at which the waiting ask has taken too long; infinity if none waits."""

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        answer = super().poll(limit)
        if answer is WAIT:
            if self._deadline == inf:
                self._deadline = trio.current_time() + self._seconds
                self.change_at(self._deadline)
            elif self._deadline <= trio.current_time():
                raise AskTimeout(
                    f"{self.location}: upstream did not answer within {self._seconds} s. Allow more with a larger "
                    f"seconds=, ask for fewer values at a time with run(pipeline, limit=1), or see what it waits for "
                    f"with running.progress.explain(time)"
                )
        elif answer is not NOT_YET and self._deadline < inf:
            self._deadline = inf
            self.change_at(inf)
        return answer


@transformer
def timeout(seconds: Seconds) -> Same[V]:
    """Fail with `AskTimeout`, a `TimeoutError`, if upstream does not answer an ask within `seconds`.

    >>> import trio, pullstream as ps
    >>> async def stuck(n):
    ...     await trio.sleep_forever()
    >>> try:
    ...     ps.run(ps.pipe(ps.once(1), ps.map_async(stuck, 1), ps.timeout(0.01), ps.collect()))
    ... except TimeoutError as error:
    ...     print(error)  # doctest: +ELLIPSIS
    timeout, composed at ...: upstream did not answer within 0.01 s...

    The time runs on trio's clock from each ask to its first value; it does not run while no ask is outstanding. On a
    timeout, upstream is notified (R8) and released.
    """
    return opens(_Timeout(seconds))


class _Gate(Waking[Any], PolledKernel[Any]):
    """Lets values in while there is room."""

    traits = Traits(trusted=True)

    def __init__(self, capacity: "int | Quota") -> None:
        self._quota = capacity if isinstance(capacity, Quota) else None
        self._capacity = 0 if isinstance(capacity, Quota) else capacity
        self.inside = 0
        self._full = False

    @override
    async def acquire(self) -> None:
        # Not in `__init__`: kernels are also made to inspect a pipeline, and the handle belongs to a run.
        if self._quota is not None:
            self._quota.grip.attach(self)

    @property
    def capacity(self) -> int:
        return self._capacity if self._quota is None else self._quota.capacity

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        room = self.capacity - self.inside
        self._full = room <= 0
        if self._full:
            return WAIT
        batch = self.upstream.poll(min(limit, room))
        if isinstance(batch, Batch):
            self.inside += len(batch.values)
            self.upstream.settle()
        return batch

    @override
    def wait(self) -> Awaitable[None]:
        return self.awaited().wait(outside=self._quota is not None) if self._full else self.upstream.ready()

    @override
    def status(self) -> str:
        if self.inside < self.capacity:
            return ""
        return (
            f"{self.inside} values are inside, of at most {self.capacity}: the transformer must give one result for "
            "each value, or the next one never enters"
        )

    def let_out(self, number: int) -> None:
        """Record that `number` values have left."""
        self.inside = max(0, self.inside - number)
        self.changed()


class _Exit(PassOn):
    """Reports to the gate how many values have left."""

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        self._gate.let_out(len(batch.values))
        return batch


@attrs.frozen(eq=False)
class _InFlight(Wiring):
    """The wiring of `in_flight`: a gate upstream of the transformer, and downstream a counter of its results."""

    _transformer: Blueprint
    _capacity: "int | Quota"

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Kernel[Any]:
        gate = _Gate(self._capacity)
        assembly.install(gate, [f"into {named(module)}"], module.site, [upstream])
        inside = assembly.stream(self._transformer.modules, gate)
        for location in assembly.scope.sidecar.locations[gate.location.node :]:
            location.dropping = (*location.dropping, gate.let_out)
        return assembly.install(_Exit(gate), [named(module)], module.site, [inside])


class Quota:
    """A capacity for `in_flight` that any thread can change during the run; a handle for one module at a time.

    >>> import pullstream as ps
    >>> quota = ps.types.Quota(2)
    >>> quota.capacity = 5
    >>> quota
    Quota(5)
    """

    def __init__(self, capacity: int) -> None:
        self.grip = Grip[_Gate]("Quota")
        self.capacity = capacity

    @property
    def capacity(self) -> int:
        """The number of values that may be inside. After lowering it, nothing enters until enough values have left."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        Count(1)(Call("Quota", name="capacity"), capacity)
        self._capacity = capacity
        self.grip.wake()

    @property
    def inside(self) -> int:
        """The number of values inside now."""
        gate = self.grip.alive()
        return 0 if gate is None else gate.inside

    def __repr__(self) -> str:
        return f"Quota({self._capacity})"

    def __reduce__(self) -> Any:
        return self.grip.__reduce__()


def _count_or_quota(call: Call, capacity: Any) -> Any:
    return cast("Any", capacity) if isinstance(capacity, Quota) else Count(1)(call, capacity)


@transformer
@Emits.AT_ONCE
def in_flight(
    transformer: Annotated[Onward[A, B], Instance(Transformer, "needs a transformer")],
    capacity: Annotated[int | Quota, _count_or_quota],
) -> Transformer[A, B]:
    """Limit the values inside a transformer: at most `capacity` may have entered without having left.

    >>> import pullstream as ps
    >>> async def double(n):
    ...     return n * 2
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.in_flight(ps.map_async(double, 16), 2), ps.collect()))
    [2, 4, 6]

    Use it around a transformer that would take more values than it works on: one that prefetches, or one that sends
    them to a remote queue. It counts values, so the transformer must give exactly one result for each value. A
    transformer that drops values stalls once `capacity` of them are missing. Pass a `Quota(n)` instead of a number to
    change the capacity during the run.
    """
    return opens(_InFlight(cast("Any", transformer), capacity))
