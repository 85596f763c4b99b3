"""Sidecars of streams inside modules: what they take from the sidecar outside, and what they report to it.

A module that opens streams while it runs is one node outside; each stream has a small sidecar of its own. Two ties
connect them. Both are brought up to date when a frontier is read, never when something happens:

- the source of the stream may still emit inside what may still arrive at the module outside (`enter`);
- the module holds outside what the stream may still emit (`report`, with a `mirror` at the module).

**Reading** (`refresh`). Every location that mirrors is read, upstream ones first, because their holds decide what
arrives downstream. Reading one reads the frontiers of the stream inside, and its source reads what arrives outside.
This second read outside finds a refresh under way and takes the counts as they are. That is enough: the locations
upstream are done, and no hold of the module itself, or of anything downstream, arrives at it, except in a loop. There
the hold of the last read is earlier and so safe, and the next read follows. But a module in a loop must not hold what
may arrive at it only because of this hold: it would be held forever, round after round. So it leaves out what its
streams get only from outside (`feed`), because that leads through it outside, too. A module with many streams does so
everywhere: it then looks only at the streams where something has happened (`changed`).

**News** (`spread`). A dropped hold or an acknowledged batch in one sidecar may complete a time in all that are tied to
it. The news goes from each sidecar to those outside, at the module that opened it, and to those inside, at modules that
the news can reach. It stops where earlier news has already reached the same places. Because one module may have
thousands of streams, they get the news only if they have waiters (`listened_to`), and only if what may arrive at them
has changed (`tell`). Most waiters inside await a time: their streams get the news when that time has passed outside
(`expect`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from pullstream.engine.sidecar.location import Counts, Ending, Location, Port, above
from pullstream.engine.sidecar.waiting import Requests, Watch, insert, remove
from pullstream.timely import BEGINNING, Antichain

Mirrored = Callable[[], Iterable[Hashable]]
"""The times that a location must hold, as of now."""


S = TypeVar("S", bound=Counts)


class _Fed(Generic[S]):
    """The sidecars inside that one location feeds, and what they await."""

    def __init__(self) -> None:
        self.listening: dict[Nesting[S], None] = {}
        """Sidecars with a waiter, their own or a nested one's, that needs all news."""
        self.arriving: list[Antichain[Any]] | None = None
        """The times that could arrive at the location when they were last notified."""
        self._ends: Requests[dict[Watch, Nesting[S]]] = Requests()
        """The other waiters, by the time that they await, with the ties of their sidecars."""
        self._beginnings: Requests[dict[Watch, Nesting[S]]] = Requests()
        """The same for waiters for everything before a time."""

    def __bool__(self) -> bool:
        return bool(self.listening or self._ends or self._beginnings)

    def expected(self, waiter: Watch) -> "Requests[dict[Watch, Nesting[S]]]":
        """The waiters that a waiter for a time is one of."""
        return self._beginnings if waiter.before else self._ends

    def reached(self, front: Antichain[Any]) -> "Iterator[Nesting[S]]":
        """Remove the waiters whose times have passed; yield their sidecars."""
        for expected, may_come in (self._ends, front.less_equal), (self._beginnings, front.less_than):
            try:
                over = expected.pop_over(may_come)
            except Exception:  # noqa: BLE001 - a time that cannot be compared is reported where it is awaited
                over = dict(expected)
                expected.clear()
                for waiter, inner in [pair for waiters in over.values() for pair in waiters.items()]:
                    inner.attend(waiter, follows=False)
            for waiters in over.values():
                yield from waiters.values()


class Nesting(Generic[S]):
    """The ties of one sidecar to those outside and inside it."""

    def __init__(self, sidecar: S) -> None:
        self.sidecar = sidecar
        self.mirrors: dict[Location, Mirrored] = {}
        """Locations whose holds follow something else, such as streams opened there."""
        self._bound: set[Location] = set()
        """The locations among them whose holds depend on what arrives there, in a way of their own."""
        self._reports: dict[Nesting[S], Location] = {}
        """Sidecars outside that get all news, and the location in each where it arrives."""
        self._entries: dict[Nesting[S], Location | None] = {}
        """Sidecars outside that feed this one, and where."""
        self._inside: dict[Location | None, _Fed[S]] = {}
        """The inner sidecars that await anything, keyed by the location that feeds them."""
        self._ways: dict[tuple[Location, Location], bool] = {}
        self._changed: dict[Location, None] = {}
        """Locations where what may arrive may have changed since the inner sidecars were last notified."""
        self.feed: Location | None = None
        """The source that brings what arrives at the module that opened this stream."""
        self.looped = False
        """Whether that module is in a loop."""
        self._changes: Callable[[], object] | None = None
        """Called at every change of the times that this stream may still emit, apart from those that `feed` brings."""
        self._awaited: dict[Watch, None] = {}
        """The waiters here that need all news from outside."""
        self._following: dict[Watch, None] = {}
        """The other waiters here: they are expected outside."""
        self._refreshing = False

    # ---- ties

    def mirror(self, location: Location, mirrored: Mirrored, *, bound: bool = True) -> None:
        """Make a location hold the times that `mirrored` returns, until it ends; `bound` is as in `_bound`."""
        self.mirrors[location] = mirrored
        location.mirroring = not location.cuts
        if bound:
            self.bind(location)

    def await_opening(self, location: Location, mirrored: Mirrored = lambda: (BEGINNING,)) -> None:
        """Hold every time at a location until the first read: a stream that opens there may emit at any time."""
        # Earlier than any time of a value that goes in before.
        location.mirror([BEGINNING])
        self.mirror(location, mirrored)

    def bind(self, location: Location) -> None:
        """Note that the holds of a module depend on what arrives there, in a way of their own: here, or inside it."""
        if location not in self._bound:
            self._bound.add(location)
            self.changed()
            for outer, opener in self._reports.items():
                outer.bind(opener)

    def report(self, outer: "Nesting[S]", opener: Location, changes: Callable[[], object] | None = None) -> None:
        """Report all news from here to the sidecar outside, at the module that opened this stream.

        `changes` is called when the times that this stream may still emit may have changed, apart from those that only
        arrive from outside.
        """
        self._reports[outer] = opener
        self._changes = changes
        if self.bound:
            outer.bind(opener)
        self._listen()

    def changed(self) -> None:
        """Note that these times may have changed."""
        if self._changes is not None:
            self._changes()

    def enter(self, source: Location, mirrored: Mirrored, outer: "Nesting[S]", at: Location | None = None) -> None:
        """Tie what a source may emit here to the sidecar outside: to what arrives at the module `at`, if given."""
        self.mirror(source, mirrored, bound=at is None)
        if outer is not self:
            self._entries[outer] = at
            if at is not None:
                self.feed, self.looped = source, outer.in_loop(at)
            self._listen()

    def in_loop(self, location: Location) -> bool:
        """Whether what leaves a module may come back to it, here or around a module outside."""
        return self.looped or self._leads(location, location)

    @property
    def bound(self) -> bool:
        """Whether any holds here depend on what arrives, in a way of their own."""
        return bool(self._bound)

    @property
    def outside(self) -> list[S]:
        """The sidecars that feed this one."""
        return [outer.sidecar for outer in self._entries]

    def attend(self, waiter: Watch, *, follows: bool) -> None:
        """Get the news from outside that a waiter needs; `follows` if it awaits a time just as that arrives outside."""
        (outer, at), *others = self._entries.items() or ((self, None),)
        follows = follows and at is not None and len(at.ports) == 1 and not others
        self._following.pop(waiter, None)
        if follows and at is not None:
            outer.expect(at, waiter, self)
        here = self._following if follows else self._awaited
        here[waiter] = None
        if len(here) == 1:
            self._listen()

    def leave(self, waiter: Watch) -> None:
        """Remove a waiter."""
        here = self._awaited if waiter in self._awaited else self._following
        del here[waiter]
        if not here:
            self._listen()
        for outer, at in self._entries.items() if here is self._following else ():
            if at is not None:
                outer.expect_no_more(at, waiter)

    def expect(self, at: Location, waiter: Watch, inner: "Nesting[S]") -> None:
        """Notify a sidecar inside when the time that a waiter there awaits has passed at the location that feeds it."""
        insert(self._fed(at).expected(waiter), waiter.time, waiter, inner)

    def expect_no_more(self, at: Location, waiter: Watch) -> None:
        """Remove a waiter inside, unless its time has passed."""
        if at in self._inside:
            remove(self._inside[at].expected(waiter), waiter.time, waiter)
            self._discard(at)

    def _fed(self, at: Location | None) -> _Fed[S]:
        if at not in self._inside:
            self._inside[at] = _Fed()
            self.sidecar.begin_looking()
            self._listen()
        return self._inside[at]

    def _discard(self, at: Location | None) -> None:
        """Discard the entry of a location if nothing there awaits anything now."""
        if not self._inside[at]:
            del self._inside[at]
            self._listen()

    def _listen(self) -> None:
        self.sidecar.alert = bool(self._awaited or self._following or self._reports or self._inside)
        for outer, at in self._entries.items():
            # A sidecar that feeds this one and also gets its reports would otherwise get its own news back.
            others = len(self._reports) - (outer in self._reports)
            outer.listened_to(self, at, wants=bool(self._awaited or self._inside) or others > 0)

    def listened_to(self, inner: "Nesting[S]", at: Location | None, *, wants: bool) -> None:
        """Add or remove a sidecar inside from those notified of every change of what may arrive at them."""
        if wants:
            self._fed(at).listening[inner] = None
        elif at in self._inside:
            self._inside[at].listening.pop(inner, None)
            self._discard(at)

    def end(self) -> None:
        """Notify the sidecars outside that this one will never have waiters again."""
        for outer, at in self._entries.items():
            outer.listened_to(self, at, wants=False)

    # ---- reading

    def refresh(self, but: Location | None) -> bool:
        """Update the holds of every location that mirrors, except `but`; False if that is under way already."""
        if not self.mirrors:
            return True
        if self._refreshing:
            return False
        self._refreshing = True
        try:
            for location, mirrored in sorted(self.mirrors.items(), key=lambda pair: pair[0].node):
                if location is but:
                    continue
                if location.ending is Ending.RUNNING:
                    location.mirror(mirrored())
                else:
                    self.mirrors.pop(location, None)
        finally:
            self._refreshing = False
        return True

    # ---- news

    def spread(self, at: Location | Port | None) -> None:
        """Spread the news that something was dropped at an output or acknowledged at an input, or anywhere if None."""
        if self._reports or self._inside:
            _spread([(self, at)], {})

    def tell(self) -> None:
        """Notify the inner sidecars for which what may arrive has changed."""
        changed, self._changed = self._changed, {}
        for at in changed:
            now = [self.sidecar.arriving(port) for port in at.ports]
            fed = self._inside.get(at)
            if fed is not None and now != fed.arriving:
                fed.arriving = now
                inside = [*fed.listening, *fed.reached(now[0])]
                self._discard(at)
                # Their output does not change what arrives at others here.
                _spread([(inner, None) for inner in inside], {self: [None]})

    def pass_on(self, at: Location | Port | None, todo: "list[tuple[Nesting[S], Location | Port | None]]") -> None:
        """Wake the waiters here, and add to `todo` the ties along which the news travels on."""
        self.sidecar.wake()
        if self._reports:
            self.changed()
            todo.extend(self._reports.items())
        for below, fed in self._inside.items():
            if below is None:
                todo.extend((inner, None) for inner in fed.listening)
            elif at is None or self._leads(at, below):
                self._changed[below] = None
                self.sidecar.wake(to_tell=True)

    def _leads(self, at: Location | Port, below: Location) -> bool:
        """Whether anything from a module's output, or from one of its inputs, may arrive at another module."""
        location = at.location if isinstance(at, Port) else at
        if location is below and at is not location:
            return True
        way = (location, below)
        if way not in self._ways:
            self._ways[way] = location in above(below)
        return self._ways[way]

    def covers(self, before: Location | Port | None, at: Location | Port | None) -> bool:
        """Whether news from one place has already gone wherever it would go from another."""
        if before is None or before is at:
            return True
        return isinstance(at, Location) and self._leads(before, at)


def _spread(
    todo: list[tuple[Nesting[S], Location | Port | None]], reached: dict[Nesting[S], list[Location | Port | None]]
) -> None:
    for nesting, at in todo:
        before = reached.get(nesting)
        if before is None:
            reached[nesting] = [at]
        elif any(nesting.covers(place, at) for place in before):
            continue
        else:
            before.append(at)
        nesting.pass_on(at, todo)
