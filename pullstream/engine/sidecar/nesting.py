"""Sidecars of streams inside modules: what they take over from the one outside, and what they report to it.

A module that opens streams while it runs is one node outside; each stream has a small sidecar of its own.
Two things tie them together, and both are brought up to date when somebody looks, never when something happens:

- what may still come in at the module outside, the source of the stream may still bring inside (`enter`);
- what the stream may still bring, the module holds outside (`report`, with a `mirror` at the module).

**Looking** (`refresh`). Each location that mirrors is read, those above first: what it holds decides what comes in to
those below. Reading one looks at the stream inside, and its source at what comes in outside; that second look outside
finds a refresh under way and takes the counts as they are, which is enough: the locations above are done, and of what
the module itself, or anything below it, holds nothing comes in to it, but in a loop, where the hold of the last look is
earlier and so safe, and the next look follows.

**News** (`spread`). Whatever is given back in one may complete something in all that are tied to it. The news goes from
each to those outside, at the module that opened it, and to those inside whose module it leads to, and stops where it
has come before by a way that leads on to the same places. As there may be thousands of streams at one module, they hear
of it only if anybody waits in them (`listen`), and only if something else can come in to them now (`tell`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Any, Generic, TypeVar

from pullstream.engine.sidecar.location import Ending, Location, Port, above
from pullstream.timely import Antichain

Mirrored = Callable[[], Iterable[Hashable]]
"""The times that a location is to hold, as of now."""


class Tied(ABC):
    """A sidecar, to its ties."""

    alert: bool

    @abstractmethod
    def arriving(self, port: Port) -> Antichain[Any]:
        """The times that may still come to an input."""

    @abstractmethod
    def begin_looking(self) -> None:
        """Start a task that looks, and calls `tell`, whenever it is woken."""

    @abstractmethod
    def wake(self, *, to_tell: bool = False) -> None:
        """Wake that task if anybody waits here, or if it has something to tell."""


S = TypeVar("S", bound=Tied)


class Nesting(Generic[S]):
    """The ties of one sidecar with those around it and inside it."""

    def __init__(self, sidecar: S) -> None:
        self.sidecar = sidecar
        self.mirrors: dict[Location, Mirrored] = {}
        """Locations whose holds follow something else, such as streams opened there."""
        self._reports: dict[Nesting[S], Location] = {}
        """Sidecars outside that hear of everything, and at which location of theirs."""
        self._entries: dict[Nesting[S], Location | None] = {}
        """Sidecars outside from which something comes in, and where."""
        self._listening: dict[Location | None, dict[Nesting[S], None]] = {}
        """By the location where it comes in, those inside in which, or in what is inside them, somebody waits."""
        self._ways: dict[tuple[Location, Location], bool] = {}
        self._changed: dict[Location, None] = {}
        """Locations where something else may come in now than those inside were told last."""
        self._told: dict[Location | None, list[Antichain[Any]]] = {}
        self._awaited = False
        self._refreshing = False

    # ---- ties

    def mirror(self, location: Location, mirrored: Mirrored) -> None:
        """From now on, until it ends, have a location hold what `mirrored` gives."""
        self.mirrors[location] = mirrored
        location.mirroring = not location.summaries

    def report(self, outer: "Nesting[S]", opener: Location) -> None:
        """Report all that happens here to the sidecar outside, at the module that has opened this stream."""
        self._reports[outer] = opener
        self._listen()

    def enter(self, source: Location, mirrored: Mirrored, outer: "Nesting[S]", at: Location | None = None) -> None:
        """Tie what a source may bring here to what happens outside: to what comes in at a module, if it is named."""
        self.mirror(source, mirrored)
        if outer is not self:
            self._entries[outer] = at
            self._listen()

    @property
    def outside(self) -> list[S]:
        """The sidecars from which something comes in."""
        return [outer.sidecar for outer in self._entries]

    def listen(self, *, awaited: bool) -> None:
        """Let it be known outside whether anybody waits here."""
        self._awaited = awaited
        self._listen()

    def _listen(self) -> None:
        self.sidecar.alert = self._awaited or bool(self._reports) or bool(self._listening)
        for outer, at in self._entries.items():
            # One that is outside on both ways hears of what happens here, and has no use for hearing of itself.
            others = len(self._reports) - (outer in self._reports)
            outer.listened_to(self, at, wants=self._awaited or bool(self._listening) or others > 0)

    def listened_to(self, inner: "Nesting[S]", at: Location | None, *, wants: bool) -> None:
        """Let a sidecar inside hear of every change of what comes in to it, or of none."""
        here = self._listening.get(at, {})
        if wants is (inner in here):
            return
        if wants:
            here[inner] = None
            self._listening[at] = here
            self.sidecar.begin_looking()
        else:
            del here[inner]
            if not here:
                del self._listening[at]
                self._told.pop(at, None)
        self._listen()

    def end(self) -> None:
        """Let it be known outside that nobody waits here ever again."""
        for outer, at in self._entries.items():
            outer.listened_to(self, at, wants=False)

    # ---- looking

    def refresh(self, but: Location | None) -> bool:
        """Let every location that mirrors, `but` for one, hold what it should; False if that is under way."""
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
        """Send the news round that something was given back at an output or acknowledged at an input, or anywhere."""
        if self._reports or self._listening:
            _spread([(self, at)], {})

    def tell(self) -> None:
        """Let those inside look again where something else may come in now."""
        changed, self._changed = self._changed, {}
        for at in changed:
            now = [self.sidecar.arriving(port) for port in at.ports]
            if at in self._listening and now != self._told.get(at):
                self._told[at] = now
                # What leaves them changes nothing of what comes in to others here.
                _spread([(inner, None) for inner in self._listening[at]], {self: [None]})

    def pass_on(self, at: Location | Port | None, todo: "list[tuple[Nesting[S], Location | Port | None]]") -> None:
        """Wake who waits here, and add the ties by which the news goes on to what is to do."""
        self.sidecar.wake()
        if self._reports:
            todo.extend(self._reports.items())
        for location, inside in self._listening.items():
            if location is None:
                todo.extend((inner, None) for inner in inside)
            elif at is None or self._leads(at, location):
                self._changed[location] = None
                self.sidecar.wake(to_tell=True)

    def _leads(self, at: Location | Port, below: Location) -> bool:
        """Whether anything that was at a module's output, or at one of its inputs, may come in at another module."""
        location = at.location if isinstance(at, Port) else at
        if location is below and at is not location:
            return True
        way = (location, below)
        if way not in self._ways:
            self._ways[way] = location in above(below)
        return self._ways[way]

    def covers(self, before: Location | Port | None, at: Location | Port | None) -> bool:
        """Whether news from one place has gone wherever it would go from another."""
        if before is None or before is at:
            return True
        return isinstance(at, Location) and self._leads(before, at)


def _spread(
    todo: list[tuple[Nesting[S], Location | Port | None]], heard: dict[Nesting[S], list[Location | Port | None]]
) -> None:
    for nesting, at in todo:
        before = heard.get(nesting)
        if before is None:
            heard[nesting] = [at]
        elif any(nesting.covers(place, at) for place in before):
            continue
        else:
            before.append(at)
        nesting.pass_on(at, todo)
