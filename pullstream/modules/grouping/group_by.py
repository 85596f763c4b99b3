"""`group_by`: a stream of its own for the values of each key."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Annotated, Any, cast

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Key, Module, Positive, Sync, Transformer, advice
from pullstream.blueprint.advice import PLAIN
from pullstream.blueprint.parts import Function, Onward
from pullstream.blueprint.variables import A, B, K
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.lane import Lane
from pullstream.engine.interfaces import Inline
from pullstream.engine.nested.inner_inputs import Portion
from pullstream.engine.nested.inner_streams import open_below
from pullstream.engine.nested.inner_times import KEEPS, Inside, Opened, Unopened, Ways, inner_frontier
from pullstream.engine.nested.side_by_side import SideBySide
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.fused import result_of
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.pace import Pace, WaitingPace
from pullstream.errors import blame
from pullstream.failures import caught
from pullstream.modules.grouping.inline import InlineRow, Member, Place, members_of
from pullstream.modules.values.on_error import OnError, catches
from pullstream.protocol import Batch, Done
from pullstream.timely import IDENTITY, Antichain


class _Group(Input):
    """The stream of a key: its input and its output."""

    closing = False
    """Whether it was ended to make room; its key then starts a new group."""

    def __init__(self, key: Hashable, feed: Portion, lane: Lane[Any]) -> None:
        super().__init__(lane)
        self.key = key
        self.feed = feed


class GroupBy(SideBySide[_Group]):
    """Deals values out to a stream for each key, and emits their results.

    Upstream is asked again when the groups have taken all earlier values, so no more values wait than were asked for.
    Times are the same inside and outside: a time that may reach the input may reach every group.
    """

    traits = attrs.evolve(SideBySide.traits, asks_apart=True)

    def __init__(
        self, key: Callable[[Any], Hashable], transformer: Any, capacity: int | None, on_error: object
    ) -> None:
        super().__init__()
        self._catches = catches(on_error)
        self._key = key
        self._transformer = transformer
        self._ways: Ways | None = None
        if isinstance(transformer, Transformer):
            # A value whose key fails is left out at its own time.
            inside = Inside(cast("Any", transformer), around=self._catches)
            self._ways = inside.ways()
            self.traits = attrs.evolve(self.traits, lasting=inside.lasting, later=inside.later())
            if self._ways and IDENTITY not in self._ways:
                # What arrives never leaves unchanged: its times follow from summaries, and nothing is left to add.
                self.traits, self._ways = attrs.evolve(self.traits, summaries=[self._ways]), KEEPS
        self._capacity = capacity
        self._groups: dict[Hashable, _Group] = {}
        self._dealt: list[Portion] = []
        self._pace = WaitingPace()

    @override
    def placed(self) -> None:
        self._unopened = Unopened(self.scope, self.location, self.mirrored, self._ways)
        self._opened = Opened(self, self.mirrored)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._cost = Pace(self.run)
        """The pace for upstream's own work, so that an answer from a slow function does not delay everything."""

    def mirrored(self) -> Iterable[Hashable]:
        """Return the times that may still leave any group, also one that opens later."""
        later = self._unopened.times(cast("Lane[Any]", self.upstream).arriving)
        return Antichain([*later, *self._opened.times()])

    @override
    def wanted(self, limit: int) -> int:
        while self._dealt and not len(self._dealt[-1]):
            self._dealt.pop()
        if self.backlog or self._dealt or self.asking(self.upstream):
            return 0
        return self._cost.next(self.upstream, at_most=min(limit, self._pace.next()))

    @override
    def deal(self, limit: int) -> None:
        outer = self.outer
        if not outer or outer.known:
            return
        head, used = outer.head, outer.used
        try:
            for time, value in zip(head.times[used:], head.values[used:], strict=True):
                try:
                    key = self._key(value)
                    hash(key)
                except Exception as exc:
                    if not self._catches:
                        raise
                    self.backlog.put(Batch(time, (caught(value, exc),)))
                else:
                    group = self._group(key)
                    if group is None:
                        # The value must wait for an older group to end.
                        return
                    if group.feed.edge.open:
                        self._opened.changed(group.lane)
                        group.feed.give(time, value)
                        self._dealt.append(group.feed)
                outer.used += 1
        except BaseException as exc:  # noqa: BLE001 - raised when the module answers, after earlier results
            blame(exc, str(self.location))
            self.end(exc)

    def _group(self, key: Hashable) -> _Group | None:
        """Return the group of a key; None while there is no room for it."""
        group = self._groups.pop(key, None)
        if group is None:
            if self._capacity is not None and len(self._groups) >= self._capacity and not self._make_room():
                return None
            group = self._open(result_of(self._key, key))
        # Keep the groups in the order of their latest value.
        self._groups[key] = group
        return None if group.closing else group

    def _open(self, key: Hashable) -> _Group:
        given = self._transformer
        transformer = cast("object", given if isinstance(given, Transformer) else given(key))
        if not isinstance(transformer, Transformer):
            raise TypeError(
                f"group_by needs a transformer for each key, but its function returned {transformer!r} for {key!r}"
            )
        keeps = transformer is given or self._unopened.expect(cast("Any", transformer))
        feed = Portion(cast("Lane[Any]", self.upstream), self.changed)
        lane = open_below(self, cast("Transformer[Any, Any]", transformer), feed)
        group = _Group(key, feed, lane)
        self.add(group)
        if not keeps:
            # Only the transformer of the latest such group is `expected`: the stream's own times decide.
            lane.edge.scope.sidecar.nesting.bind(lane.port.location)
        self._opened.add(lane)
        return group

    def _make_room(self) -> bool:
        """Forget the group that has waited longest for a value; False if it must end first."""
        oldest = next(iter(self._groups.values()))
        if oldest.lane not in self.inner:
            del self._groups[oldest.key]
            return True
        oldest.closing = True
        oldest.feed.end()
        return False

    @override
    def end(self, ending: Done | BaseException) -> None:
        super().end(ending)
        for group in self._groups.values():
            group.feed.end(ending)

    @override
    def took(self, count: int) -> None:
        # Count no more groups than values: most groups may have no values left.
        self._pace.took(count, streams=max(1, min(count, len(self._groups))))
        self._cost.took()

    @override
    def answer(self, stream: _Group, batch: Batch[Any]) -> Batch[Any]:
        return Batch(batch.time, [(stream.key, value) for value in batch.values])

    @override
    def stream_ended(self, stream: _Group) -> None:
        # A group that has ended by itself keeps its place, so that later values of its key are left out.
        if stream.closing:
            del self._groups[stream.key]
        if isinstance(self.outer.ending, BaseException):
            # What it held is not complete, while others may still answer before the failure is raised.
            for time in inner_frontier(stream.lane):
                self.location.hold(time)
        self._opened.remove(stream.lane)


class GroupRows(Notified, Inline):
    """Runs a row of modules for each key without an edge, so a key costs only its state."""

    traits = attrs.evolve(Notified.traits, reorders=True)

    def __init__(
        self,
        key: Callable[[Any], Hashable],
        transformer: Transformer[Any, Any],
        capacity: int | None,
        on_error: object,
        members: Sequence[tuple[Member, Module]],
    ) -> None:
        super().__init__()
        self._catches = catches(on_error)
        self._key = key
        self._transformer = transformer
        # Stages answer one value per value; a fold inside consumes more than it emits.
        self.own_pace = any(isinstance(member, Notified) and member.own_pace for member, _ in members)
        self._capacity = capacity
        self._rows: dict[Hashable, InlineRow] = {}
        """The row of each key; with a capacity, in the order of their latest values."""
        self._asked: dict[Hashable, dict[InlineRow, None]] = {}
        """The rows to notify when a time is complete."""
        self._results: list[tuple[Hashable, list[tuple[Hashable, Any]]]] = []
        """The results of this step, in runs at one time."""
        self._failing: InlineRow | None = None

    @cached_property
    def _place(self) -> Place:
        return Place(self)

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for run in (batch,) if batch.uniform else self.apart(batch):
            self._receive(run.time, run.values)

    def _receive(self, time: Hashable, values: Sequence[Any]) -> None:
        key, rows, bounded = self._key, self._rows, self._capacity
        portions: dict[Hashable, list[Any]] = {}
        failure: BaseException | None = None
        try:
            for value in values:
                try:
                    name = key(value)
                    portion = portions.get(name)
                except Exception as exc:
                    if not self._catches:
                        raise
                    self.give(time, (caught(value, exc),))
                    continue
                if portion is None:
                    if name not in rows:
                        if bounded and len(rows) >= bounded:
                            # Feed the earlier values first.
                            before, portions = portions, {}
                            self._feed(time, before)
                            self._forget_oldest()
                        rows[name] = self._open(result_of(key, name))
                    portions[name] = portion = []
                portion.append(value)
                if bounded:
                    rows[name] = rows.pop(name)
        except BaseException as exc:  # noqa: BLE001 - raised after earlier results
            failure = exc
        self._feed(time, portions)
        if failure is not None:
            raise failure

    def _feed(self, time: Hashable, portions: Mapping[Hashable, Sequence[Any]]) -> None:
        """Feed rows their values. If one fails, the others still take theirs, some of which arrived earlier."""
        failure: BaseException | None = None
        for name, portion in portions.items():
            row = self._rows[name]
            try:
                row.feed(time, portion)
            except BaseException as exc:  # noqa: BLE001 - raised after the results of the others
                if failure is None:
                    failure, self._failing = exc, row
            self._note(row, time)
        self._deliver()
        if failure is not None:
            raise failure

    def _note(self, row: InlineRow, time: Hashable) -> None:
        """Register a row for the times that it waits for."""
        if row.over:
            self._forget(row)
        elif time not in row.times and row.waits(time):
            row.times.add(time)
            if time not in self._asked:
                self._asked[time] = {}
                self.notify(time, time)
            self._asked[time][row] = None

    @override
    def forget(self, time: Hashable) -> None:
        super().forget(time)
        for row in self._asked.pop(time, ()):
            row.times.discard(time)
            row.forget(time)

    def _forget(self, row: InlineRow) -> None:
        for time in row.times:
            del self._asked[time][row]
        row.times.clear()

    def _open(self, name: Hashable) -> InlineRow:
        members = members_of(self._transformer)
        assert members is not None, "group_by() has checked it"
        return InlineRow(members, self._place, partial(self._result, name))

    def _forget_oldest(self) -> None:
        row = self._rows.pop(next(iter(self._rows)))
        self._step(row, row.finish)
        self._forget(row)

    @override
    def complete(self, time: Hashable) -> None:
        for row in self._asked.pop(time):
            row.times.discard(time)
            self._step(row, row.complete, time)
            if row.over:
                self._forget(row)

    @override
    def failed(self) -> None:
        for row in self._rows.values():
            self._step(row, row.fail)

    def _step(self, row: InlineRow, step: Callable[..., None], *args: Any) -> None:
        try:
            step(*args)
        except BaseException:
            self._failing = row
            raise
        finally:
            self._deliver()

    def _result(self, name: Hashable, time: Hashable, values: Sequence[Any]) -> None:
        results = self._results
        if not results or results[-1][0] != time:
            results.append((time, []))
        results[-1][1].extend([(name, value) for value in values])

    def _deliver(self) -> None:
        results, self._results = self._results, []
        for time, pairs in results:
            self.give(time, pairs)

    @override
    def culprit(self) -> str:
        return "" if self._failing is None else self._failing.culprit()


def _for_keys(call: Call, value: Any) -> Any:
    if isinstance(value, Transformer):
        return cast("object", value)
    if not callable(value) or isinstance(value, PLAIN):
        hint = advice(call.module, value, wanted="transformer")
        raise call.refuse(f"needs a transformer, or a function that makes one from a key, but got {value!r}{hint}")
    return Sync("return a transformer, which may await anything")(call, value)


@transformer
@Emits.by(lambda module: Emits.UNKNOWN if isinstance(module.args[1], Transformer) else Emits.AT_ANY_TIME)
def group_by(
    key: Key[A, K],
    transformer: Annotated[Onward[A, B] | Function[K, Onward[A, B]], _for_keys],
    *,
    capacity: Positive | None = None,
    on_error: OnError[A] = "fail",
) -> Transformer[A, tuple[K, B]]:
    """Send the values of each key through a transformer of their own; emit `(key, result)` pairs as results arrive.

    >>> import pullstream as ps
    >>> first_two = ps.group_by(lambda word: word[0], ps.take(2))
    >>> sorted(ps.run(ps.pipe(ps.values(["apple", "bread", "ale", "avocado", "beer"]), first_two, ps.collect())))
    [('a', 'ale'), ('a', 'apple'), ('b', 'beer'), ('b', 'bread')]

    A group is opened at the first value of its key; pass a function instead of a transformer to make one for each key.
    All groups end with the stream, or fail with it after their earlier values; the failure is raised when all of them
    have ended. If a group's transformer ends sooner, later values of its key are left out. With
    `capacity`, at most that many keys are known. For a further key, the group that has waited longest for a value is
    ended, emits its remaining results, and is forgotten; if its key returns, it starts a new group.

    Times are the same inside: a module that waits for a time to complete, such as `reduce_by_key`, is notified in every
    group. If a later group may emit at any time (it contains `stamp`, `deferred`, or a `group_by` with a function),
    times downstream are complete only at the end. Results of one key keep their order; those of different keys may
    change places. A transformer made of stages and folds (`map`, `scan`, `batch`, `reduce_by_key` and the like) costs
    only the state that it keeps for a key. Any other transformer runs as a stream with tasks of its own. Upstream is
    then asked again when every group has taken its values, so a slow group delays the others. It is asked for one value
    at first, and for more while groups take them quickly. Errors in `key`, and keys that cannot be hashed, are handled
    as in `map`, except that there is no `on_error="result"`.

    Raises: BaseException: the failure of any group, or of a function (R8).
    """
    row = cast("Transformer[Any, Any]", transformer)
    if isinstance(transformer, Transformer) and (members := members_of(row)) is not None:
        return opens(GroupRows(key, row, capacity, on_error, members))
    return opens(GroupBy(key, transformer, capacity, on_error))
