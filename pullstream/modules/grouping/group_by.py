"""`group_by`: every key's values through a stream of their own."""

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Annotated, Any, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Positive, Sync, Transformer
from pullstream.blueprint.parts import Function, Onward
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.inner_inputs import Portion
from pullstream.engine.nested.inner_streams import follow_inner, inner_frontier, open_below
from pullstream.engine.nested.on_error import OnError, catches
from pullstream.engine.nested.side_by_side import Inner, SideBySide
from pullstream.engine.parts.pace import Pace
from pullstream.errors import blame
from pullstream.failures import caught
from pullstream.protocol import Batch, Done
from pullstream.timely import Antichain

A = TypeVar("A")
B = TypeVar("B")
K = TypeVar("K", bound=Hashable)


class _Group(Inner):
    """A key's stream: what goes in, what comes out, and what of that waits."""

    closing = False
    """Whether it was ended to make room; its key begins anew."""

    def __init__(self, key: Hashable, feed: Portion, lane: Lane[Any]) -> None:
        super().__init__(lane)
        self.key = key
        self.feed = feed


class GroupBy(SideBySide[_Group]):
    """Deals values out to a stream for each key, and answers as these do.

    Upstream is asked again when every value before has been taken by its group, so no more waits than was asked for.
    Times are the same inside and outside: what may come to the input may come to every group.
    """

    traits = attrs.evolve(SideBySide.traits, asks_apart=True)

    def __init__(
        self, key: Callable[[Any], Hashable], transformer: Any, capacity: int | None, on_error: object
    ) -> None:
        super().__init__()
        self._catches = catches(on_error)
        self._key = key
        self._transformer = transformer
        self._capacity = capacity
        self._groups: dict[Hashable, _Group] = {}
        self._dealt: list[Portion] = []
        self._time: Hashable = None
        self._pending: deque[Any] = deque()
        self._pace = Pace()

    def mirrored(self) -> Iterable[Hashable]:
        """The times that may still come out of any group."""
        return Antichain(time for lane in self.inner for time in inner_frontier(lane))

    @override
    def ask_outer(self, limit: int) -> None:
        if not self.outer.known and not self._pending and not any(len(feed) for feed in self._dealt):
            self._dealt.clear()
            self.ask_beside(self.upstream, min(limit, self._pace.next()))

    @override
    def deal(self) -> None:
        if not self._pending:
            return
        # Until one has to wait for an older group to end.
        try:
            while self._pending:
                value = self._pending[0]
                try:
                    key = self._key(value)
                    hash(key)
                except Exception as exc:
                    if not self._catches:
                        raise
                    self.owed.put(self._time, (caught(self._pending.popleft(), exc),))
                    continue
                group = self._group(key)
                if group is None:
                    return
                value = self._pending.popleft()
                if group.feed.edge.open:
                    group.feed.give(self._time, value)
                    self._dealt.append(group.feed)
        except BaseException as exc:  # noqa: BLE001 - raised where the module answers, after what came before it
            blame(exc, str(self.location))
            self._pending.clear()
            self.end(exc)
        self.upstream.ack()

    def _group(self, key: Hashable) -> _Group | None:
        """The key's group; None while there is no room for it."""
        group = self._groups.pop(key, None)
        if group is None:
            if self._capacity is not None and len(self._groups) >= self._capacity and not self._make_room():
                return None
            group = self._open(key)
        # Those that have waited longest for a value come first.
        self._groups[key] = group
        return None if group.closing else group

    def _open(self, key: Hashable) -> _Group:
        given = self._transformer
        transformer = cast("object", given if isinstance(given, Transformer) else given(key))
        if not isinstance(transformer, Transformer):
            raise TypeError(f"group_by needs a transformer for each key, and was given {transformer!r} for {key!r}")
        feed = Portion(cast("Lane[Any]", self.upstream), self.changed)
        lane = open_below(self, cast("Transformer[Any, Any]", transformer), feed)
        group = _Group(key, feed, lane)
        self.add(group)
        follow_inner(self, lane, self.mirrored)
        return group

    def _make_room(self) -> bool:
        """Forget the group that has waited longest for a value; False if it has to end first."""
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
    def came(self, batch: Batch[Any]) -> None:
        self._time = batch.time
        self._pace.took(len(batch.values))
        self._pending.extend(batch.values)

    @override
    def answer(self, stream: _Group, values: Sequence[Any]) -> Batch[Any]:
        return Batch(stream.time, [(stream.key, value) for value in values])

    @override
    def gone(self, stream: _Group) -> None:
        # One that has ended by itself keeps its place, so that the values of its key are known to be left out.
        if stream.closing:
            del self._groups[stream.key]


def _for_keys(call: Call, value: Any) -> Any:
    if isinstance(value, Transformer):
        return cast("object", value)
    if not callable(value):
        raise call.refuse(f"needs a transformer, or a function from a key to one, and got {value!r}")
    return Sync("it makes a transformer, which may wait for what it likes")(call, value)


@transformer
def group_by(
    key: Annotated[Function[A, K], Sync("await the key first, and group the pairs")],
    transformer: Annotated[Onward[A, B] | Function[K, Onward[A, B]], _for_keys],
    *,
    capacity: Positive | None = None,
    on_error: OnError[A] = "fail",
) -> Transformer[A, tuple[K, B]]:
    """Send every key's values through a transformer of their own; results come as they are ready, as (key, result).

    >>> import pullstream as ps
    >>> first_two = ps.group_by(lambda word: word[0], ps.take(2))
    >>> sorted(ps.run(ps.pipe(ps.values(["apple", "bread", "ale", "avocado", "beer"]), first_two, ps.collect())))
    [('a', 'ale'), ('a', 'apple'), ('b', 'beer'), ('b', 'bread')]

    A group is opened at the first value of its key; a function in place of the transformer makes one for each key.
    Groups end when the stream does. One whose transformer ends sooner takes no more values: those of its key are left
    out. With `capacity` at most so many keys are known: for another one, the group that has waited longest for a value
    is ended, gives what it still has, and is forgotten; it begins anew if its key comes again.

    Times are the same inside: a module that waits until a time is complete, such as `reduce_by_key`, is told in every
    group. Upstream is asked again when each group has taken its values, so one that is slow holds up the others; for
    one value at first, and for more as long as groups take them in a moment. If `key` raises, or gives what has no
    hash, see `map`; there is no "result" here.

    Raises:
        BaseException: the failure of any group, or of a function (R8).
    """
    return opens(GroupBy(key, transformer, capacity, on_error))
