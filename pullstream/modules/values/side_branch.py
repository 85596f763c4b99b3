"""Side branches: failed or late values go to a sink of their own beside the main one."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Module, Sink, advice
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.hub import Dealt, Hub
from pullstream.protocol import Batch


@attrs.frozen(eq=False)
class SideBranch(Wiring):
    """The wiring of a transformer that sends the values of one class to a `sink`, and passes the others on.

    For a value of the class `aside`, the sink gets `given(value)`. If that is a class of sequences, all values of a
    batch go to the sink, or none. This is for ready-made modules, which compose it with the module upstream of it.

    >>> import pullstream as ps
    >>> fractions = []
    >>> aside = ps.Transformer((Module("aside", SideBranch, (ps.drain(fractions.append), float, str)),))
    >>> ps.run(ps.pipe(ps.values([0, 0.5, 2, 1.5]), aside, ps.collect())), fractions
    ([0, 2], ['0.5', '1.5'])

    The main branch sets the pace, unless the side sink has not yet taken earlier values. When the main branch ends, the
    stream and the side sink end, too; an error of either branch fails both. When the side sink has enough, further
    values for it are dropped.
    """

    _sink: Blueprint
    _aside: type[Any]
    _given: Callable[[Any], Any]

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Kernel[Any]:
        hub = _Aside(assembly, module, upstream, self._sort)
        assembly.beside.append(assembly.sink(self._sink, hub.side))
        return hub.main

    def _sort(self, batch: Batch[Any]) -> "_Sorted":
        values, given = batch.values, self._given
        aside: Any = self._aside
        if issubclass(aside, Sequence):
            if not isinstance(values, aside):
                return batch, None, None
            all_ = given(values)
            return None, Batch(batch.time, all_) if batch.uniform else Batch.of(batch.times, all_), None
        # Nearly all values pass; checking them one by one would be most of the cost here.
        kinds = list(map(type, values))
        places: list[int] = []
        for _ in range(kinds.count(aside)):
            places.append(kinds.index(aside, places[-1] + 1 if places else 0))
        if not places:
            return batch, None, None
        side: list[Any] = []
        stop, failure = len(values), None
        try:
            for place in places:
                side.append(given(values[place]))  # noqa: PERF401 - up to a failure
        except BaseException as exc:  # noqa: BLE001 - raised after the values before it (R8)
            stop, failure = places[len(side)], exc
            del places[len(side) :]
        main = _without(values, places, stop)
        if batch.uniform:
            return Batch(batch.time, main), Batch(batch.time, side), failure
        times = batch.times
        return (
            Batch.of(_without(times, places, stop), main),
            Batch.of([times[place] for place in places], side),
            failure,
        )


def _without(values: Sequence[Any], places: Sequence[int], stop: int) -> list[Any]:
    """The values before `stop`, without those at `places`."""
    out: list[Any] = []
    begin = 0
    for place in places:
        out += values[begin:place]
        begin = place + 1
    out += values[begin:stop]
    return out


_Sorted = tuple[Batch[Any] | None, Batch[Any] | None, BaseException | None]
"""The batches for the main branch and for the side sink, None if empty, and the failure that ended the sorting."""


class _Aside(Hub):
    def __init__(
        self, assembly: Assembly, module: Module, upstream: Kernel[Any], sort: Callable[[Batch[Any]], _Sorted]
    ) -> None:
        name = named(module)
        super().__init__(assembly, module, f"into {name}", upstream)
        self._sort = sort
        self.main = self.branch(name)
        self.side = self.branch(f"{name}[aside]")

    @override
    def needed(self) -> bool:
        return self.main in self.branches

    @override
    def room(self) -> int:
        return 0 if self.side.kept and self.side in self.branches else self.main.wanted

    @override
    def deal(self, batch: Batch[Any]) -> Dealt:
        main, side, failure = self._sort(batch)
        if main is not None:
            yield self.main, main
        if side is not None:
            yield self.side, side
        if failure is not None:
            self.taken = sum(len(part.values) for part in (main, side) if part is not None)
            raise failure


@attrs.frozen
class Late:
    """The mark of a late value on its way to the sink for late values."""

    value: Any


def _value_of(late: Late) -> Any:
    return late.value


@attrs.frozen
class LateOption:
    """The check of `late=`. A sink for late values is added directly downstream of the module.

    The module emits a late value as a `mark`, from which `plain` makes the value for the sink.
    """

    mark: type = Late
    plain: Callable[[Any], Any] = _value_of

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
        """Make the module that passes late values to the sink."""
        if isinstance(late, str):
            return ()
        return (Module("late", partial(_aside, self), (late,), site=module.site, follows=True),)


def _aside(option: LateOption, sink: Sink[Any, Any]) -> SideBranch:
    return SideBranch(sink, option.mark, option.plain)
