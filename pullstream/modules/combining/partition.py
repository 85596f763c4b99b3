"""`partition`: sends every value to one of several sinks."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, Final, cast, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Instance, Key, Module, Natural, Sink
from pullstream.blueprint.parts import Function, Into
from pullstream.blueprint.variables import A, K, R, S
from pullstream.decorators import opens, sink
from pullstream.engine.assembly import Assembly, Consuming, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.hub import Branch, Dealt, Hub
from pullstream.engine.parts.fused import result_of
from pullstream.errors import RoutingError
from pullstream.failures import Caught, Failed, caught
from pullstream.modules.combining.tee import Several
from pullstream.modules.values.on_error import OnErrorHere, Reveals
from pullstream.protocol import Batch


@attrs.frozen(eq=False)
class _Partition(Wiring):
    _key: Callable[[Any], Hashable]
    _sinks: Mapping[Hashable, Blueprint]
    _other: Blueprint | None
    _capacity: int
    _on_error: Any

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Consuming:
        name = named(module)
        hub = _Router(assembly, module, upstream, self._key, self._capacity)
        if isinstance(self._on_error, Blueprint):
            hub.failed = branch = hub.branch(f"{name}[on_error]")
            hub.reveal = Reveals(module).failed
            assembly.beside.append(assembly.sink(self._on_error, branch))
        hub.skips = self._on_error == "skip"
        consumers: list[Consuming] = []
        for key, chosen in self._sinks.items():
            hub.ways[key] = branch = hub.branch(f"{name}[{key!r}]")
            consumers.append(assembly.sink(chosen, branch))
        if self._other is not None:
            hub.other = branch = hub.branch(f"{name}[other]")
            consumers.append(assembly.sink(self._other, branch))
        return _ByKey(consumers, list(self._sinks), other=self._other is not None)


class _Router(Hub):
    def __init__(
        self, assembly: Assembly, module: Module, upstream: Kernel[Any], key: Callable[[Any], Hashable], capacity: int
    ) -> None:
        super().__init__(assembly, module, named(module), upstream, capacity)
        self._key = key
        self.ways: dict[Hashable, Branch] = {}
        self.other: Branch | None = None
        self.failed: Branch | None = None
        self.reveal: Callable[[Caught], Failed[Any]]
        self.skips = False

    @override
    def needed(self) -> bool:
        return any(branch is not self.failed for branch in self.branches)

    @override
    def deal(self, batch: Batch[Any]) -> Dealt:
        dealt: dict[Branch, list[Any]] = {}
        if not batch.uniform:
            owners: list[Branch | None] = []
            failure = self._route(batch.values, dealt, owners)
            self.taken = len(owners)
            times: dict[Branch | None, list[Hashable]] = {None: [], **{branch: [] for branch in dealt}}
            for branch, time in zip(owners, batch.times, strict=False):
                times[branch].append(time)
            yield from ((branch, Batch.of(times[branch], values)) for branch, values in dealt.items())
        else:
            failure = self._route(batch.values, dealt, None)
            yield from ((branch, Batch(batch.time, values)) for branch, values in dealt.items())
        if failure is not None:
            raise failure

    def _route(
        self, values: Sequence[Any], dealt: dict[Branch, list[Any]], owners: "list[Branch | None] | None"
    ) -> BaseException | None:
        """Deal out values; append the branch of each to `owners`, if given."""
        try:
            for value in values:
                try:
                    key = self._key(value)
                    branch = self.ways.get(key)
                except Exception as exc:
                    if self.failed is not None:
                        dealt.setdefault(self.failed, []).append(self.reveal(caught(value, exc)))
                    elif self.skips:
                        self.location.leave_out()
                    else:
                        raise
                    if owners is not None:
                        owners.append(self.failed)
                    continue
                if branch is None:
                    result_of(self._key, key)
                    branch = self.other
                if branch is None:
                    raise RoutingError(  # noqa: TRY301 - handled like any other failure of a value
                        f"{self.location}: {value!r} has the key {key!r}, which has no sink. Add one for this key, or "
                        f"pass other= with a sink for all other keys"
                    )
                dealt.setdefault(branch, []).append(value)
                if owners is not None:
                    owners.append(branch)
        except BaseException as exc:  # noqa: BLE001 - raised after the values before it (R8)
            return exc
        return None


class _ByKey(Several):
    def __init__(self, consumers: Sequence[Consuming], keys: Sequence[Hashable], *, other: bool) -> None:
        super().__init__(consumers)
        self._keys = keys
        self._other = other

    @override
    async def consume(self) -> Any:
        results = await super().consume()
        by_key = dict(zip(self._keys, results, strict=False))
        return (by_key, results[-1]) if self._other else by_key


_A_SINK: Final = Instance(Sink, "needs sinks")


def _sinks(call: Call, sinks: Any) -> Any:
    if not isinstance(sinks, Mapping):
        raise call.refuse(f"needs a dict with a sink for each key, but got {sinks!r}")
    for each in cast("Mapping[Any, Any]", sinks).values():
        _A_SINK(call, each)
    if not sinks and call["other"] is None:
        raise call.refuse("needs at least one sink")
    return dict(cast("Mapping[Any, Any]", sinks))


@overload
def partition(
    key: Function[A, K], sinks: Mapping[K, Into[A, R]], *, capacity: int = 0, on_error: OnErrorHere[A] = "fail"
) -> Sink[A, dict[K, R]]: ...
@overload
def partition(
    key: Function[A, K],
    sinks: Mapping[K, Into[A, R]],
    *,
    other: Into[A, S],
    capacity: int = 0,
    on_error: OnErrorHere[A] = "fail",
) -> Sink[A, tuple[dict[K, R], S]]: ...
@sink
def partition(
    key: Key[Any, Any],
    sinks: Annotated[Mapping[Any, Into[Any, Any]], _sinks],
    *,
    other: Annotated[Into[Any, Any] | None, _A_SINK] = None,
    capacity: Natural = 0,
    on_error: OnErrorHere[Any] = "fail",
) -> Sink[Any, Any]:
    """Send every value to the sink for its key; the result is a dict of the sinks' results.

    >>> import pullstream as ps
    >>> sinks = {"even": ps.collect(), "odd": ps.reduce(max, 0)}
    >>> ps.run(ps.pipe(ps.values(range(5)), ps.partition(lambda n: "odd" if n % 2 else "even", sinks)))
    {'even': [0, 2, 4], 'odd': 3}

    With `other`, a sink for all other keys, the result is a pair: the dict and the result of `other`. Without it, such
    a key is an error:

    >>> ps.run(ps.pipe(ps.values("abcab"), ps.partition(str, {"a": ps.collect()}, other=ps.collect())))
    ({'a': ['a', 'a']}, ['b', 'c', 'b'])

    The slowest sink sets the pace: the stream may be one batch ahead of it and, with `capacity`, that many values
    more, which are buffered. Values for a sink that has ended are dropped. When all sinks have ended, the stream is
    aborted; if one fails, all are ended (R6). Errors in `key`, and keys that cannot be hashed, are handled as in `map`,
    except that there is no `on_error="result"`.

    Raises: RoutingError: a key has no sink.
    """
    return opens(_Partition(key, cast("Any", sinks), cast("Any", other), capacity, on_error))
