"""Collections that stay up to date while their inputs change: the verbs of a program."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from operator import index
from typing import Any, Final, Generic, cast

from typing_extensions import TypeVar

from pullstream.authoring import Site
from pullstream.errors import CompositionError
from pullstream.incremental.operators import (
    ITSELF,
    SUM,
    Arrangement,
    Compute,
    Delay,
    JoinByKey,
    Reduce,
    Together,
    records,
)
from pullstream.incremental.parts import Changes, Listener, Parts, called_with, noted, pairs, whole
from pullstream.incremental.ranked import Foremost
from pullstream.incremental.region import Iteration, Region
from pullstream.incremental.trace import KeyedTrace, Time

A = TypeVar("A", bound=Hashable)
A_co = TypeVar("A_co", bound=Hashable, covariant=True)
B = TypeVar("B", bound=Hashable)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)
W = TypeVar("W", bound=Hashable)
N = TypeVar("N", bound=int)

ROUNDS = 100_000
"""The default number of rounds after which an iteration counts as endless."""

IN_A_ROW: Final = 40
"""The largest number of verbs that call each other directly, because Python limits the depth of calls."""


def _nested(key: Any, value: Any, other: Any) -> Any:
    return key, (value, other)


class Collection(Generic[A_co]):
    """A multiset of records that changes over time; the results of its methods change with it.

    A program is a function from collections to collections that uses these methods; `maintain` makes it a module.
    Records must be hashable. The methods `join` to `top` work by key and need records that are pairs of a key and a
    value.
    """

    def __init__(self, region: Region, *upstream: "Collection[Any]") -> None:
        self.region = region
        self.row: int = 1 + max((each.row for each in upstream), default=0)
        """The number of verbs up to here that call each other directly when a collection `upstream` changes."""
        self._listeners: list[Listener] = []
        self._inside: dict[Region, Collection[A_co]] = {}
        self._arranged: Arrangement | None = None

    # ---- value by value, at once

    def map(self, f: Callable[[A_co], B]) -> "Collection[B]":
        """The result of `f` for each record. `f` must give the same result when a record is added and removed."""
        return self._linear("map", lambda changes: [(f(record), diff) for record, diff in changes])

    def filter(self, test: Callable[[A_co], object]) -> "Collection[A_co]":
        """The records for which `test` is true."""
        return self._linear("filter", lambda changes: [change for change in changes if test(change[0])])

    def flat_map(self, f: Callable[[A_co], Iterable[B]]) -> "Collection[B]":
        """All results that `f` gives for each record."""
        return self._linear("flat_map", lambda changes: [(new, diff) for record, diff in changes for new in f(record)])

    def negate(self) -> "Collection[A_co]":
        """The records with their counts negated. With `concat`, this subtracts a collection."""
        return self._linear("negate", lambda changes: [(record, -diff) for record, diff in changes])

    def concat(self, *others: "Collection[B]") -> "Collection[A_co | B]":
        """The records of all collections; their counts are added."""
        region = _deepest((self, *others), "concat")
        entered = [each.enter(region) for each in (self, *others)]
        made = Collection[A_co | B](region, *entered)
        for each in entered:
            each.listen(made.give)
        return made._cut()

    # ---- by key

    def join(
        self: "Collection[tuple[K, V]]", other: "Collection[tuple[K, W]]", make: Callable[[K, V, W], B] = _nested
    ) -> "Collection[B]":
        """One record for each pair with the same key: `(key, (value, value of other))`, or the result of `make`."""
        region = _deepest((self, other), "join")
        called_with("join", make, "the key", "the value", "the value of other")
        left, right = self.enter(region), other.enter(region)
        made = Collection[B](region, left, right)
        in_join = partial(noted, "join", Site.here())
        JoinByKey(region, make, made.give).place(left.arrangement(), right.arrangement(), in_join)
        return made._cut()

    def semijoin(self: "Collection[tuple[K, V]]", keys: "Collection[K]") -> "Collection[tuple[K, V]]":
        """The records whose key is in `keys`; the key's count there does not matter."""
        marked = keys.distinct().map(lambda key: (key, None))
        return self.join(marked, lambda key, value, _: (key, value))

    def antijoin(self: "Collection[tuple[K, V]]", keys: "Collection[K]") -> "Collection[tuple[K, V]]":
        """The records whose key is not in `keys`."""
        return self.concat(self.semijoin(keys).negate())

    def reduce(
        self: "Collection[tuple[K, V]]", f: Callable[[K, Mapping[V, int]], Iterable[B]]
    ) -> "Collection[tuple[K, B]]":
        """`(key, result)` for each result of `f`, which gets a key and a dict of the counts of its values.

        `f` is called with all values of a key when any of them changes, but not for a key without values. The cost of a
        change therefore grows with the group; `min`, `max`, `top`, `sum`, `count` and `distinct` avoid this.
        """
        called_with("reduce", f, "the key", "the counts of its values")

        def compute(key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            made: dict[Any, int] = {}
            for result in f(key, counts):
                record = key, result
                made[record] = made.get(record, 0) + 1
            return made

        return self._reduced("reduce", pairs("reduce"), compute)

    def min(self: "Collection[tuple[K, V]]") -> "Collection[tuple[K, V]]":
        """The least value of each key."""
        return self._foremost("min", 1, falling=False)

    def max(self: "Collection[tuple[K, V]]") -> "Collection[tuple[K, V]]":
        """The greatest value of each key."""
        return self._foremost("max", 1, falling=True)

    def sum(self: "Collection[tuple[K, N]]") -> "Collection[tuple[K, int]]":
        """The sum of the values of each key, which must be integers.

        A key keeps only two numbers, however many values it has.
        """

        def parts(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
            for key, value, diff in pairs("sum")(changes):
                yield key, ITSELF, diff
                yield key, SUM, whole(key, value) * diff

        def compute(key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            return {(key, counts.get(SUM, 0)): 1}

        return self._reduced("sum", parts, compute)

    def top(self: "Collection[tuple[K, V]]", n: int) -> "Collection[tuple[K, V]]":
        """The `n` greatest values of each key; a value that is present several times counts several times."""
        if not isinstance(n, int) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
            raise CompositionError(f"top() at {Site.here()} needs a whole number of at least 1, but got {n!r}")
        return self._foremost("top", n, falling=True)

    # ---- by record

    def count(self) -> "Collection[tuple[A_co, int]]":
        """`(record, count)` for each record."""
        return self._reduced("count", records, lambda record, counts: {(record, counts[ITSELF]): 1})

    def distinct(self) -> "Collection[A_co]":
        """Each record once."""
        return self._reduced("distinct", records, lambda record, _: {record: 1})

    def threshold(self, f: Callable[[A_co, int], int]) -> "Collection[A_co]":
        """Each record with the count that `f` returns for it and its current count."""
        called_with("threshold", f, "the record", "its count")

        def compute(record: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            count = index(f(record, counts[ITSELF]))
            return {record: count} if count else {}

        return self._reduced("threshold", records, compute)

    def consolidate(self) -> "Collection[A_co]":
        """The same records; their changes are emitted together when a time is complete, without those that cancel."""
        made = Collection[A_co](self.region)
        self.listen(Together(self.region, Site.here(), made.give).take)
        return made

    # ---- again and again

    def iterate(
        self: "Collection[B]", body: "Callable[[Collection[B]], Collection[B]]", *, rounds: int = ROUNDS
    ) -> "Collection[B]":
        """The result of applying `body` repeatedly, beginning with these records, until nothing changes.

        See the function `iterate` for several collections that depend on each other.

        Raises: DivergenceError: the result still changes after the given number of `rounds`.
        """

        def alone(variable: "Collection[B]") -> "tuple[Collection[B]]":
            return (body(variable),)

        return iterate(alone, self, rounds=rounds)[0]

    def enter(self, region: "Region | Collection[Any]") -> "Collection[A_co]":
        """The same records inside a loop. A collection used with one from inside the loop is entered automatically."""
        inside = region.region if isinstance(region, Collection) else region
        if inside is self.region:
            return self
        if inside not in self._inside:
            if inside.loop is None:
                raise CompositionError(
                    f"at {Site.here()} a collection from inside an iteration is used outside it: return it from the "
                    f"body, and iterate(body, ...) gives its final state. If this is a nested iteration, start it with "
                    f"a collection that has entered the outer one: outside.enter(inside).iterate(body)"
                )
            outside = self.enter(inside.loop.region)
            made = Collection[A_co](inside, outside)
            outside.listen(lambda time, changes: made.give((*time, 0), changes))
            self._inside[inside] = made._cut()
        return self._inside[inside]

    # ---- for the parts of a program

    def listen(self, listener: Listener) -> None:
        """Call a function with all changes."""
        self._listeners.append(listener)

    def give(self, time: Time, changes: Changes) -> None:
        """Pass changes on to the listeners."""
        for listener in self._listeners:
            listener(time, changes)

    def leave(self, loop: Iteration) -> "Collection[A_co]":
        """The records of a loop after all rounds, as a collection outside it."""
        inside = self.enter(loop.body)
        made = Collection[A_co](loop.region, inside)
        inside.listen(lambda time, changes: made.give(time[:-1], changes))
        return made._cut()

    def arrangement(self) -> Arrangement:
        """The records by key, stored once for all joins."""
        if self._arranged is None:
            self._arranged = Arrangement(self.region.keep(KeyedTrace(self.region.order)), pairs("join"))
            self.listen(noted("join", Site.here(), self._arranged.take))
        return self._arranged

    def _cut(self) -> "Collection[A_co]":
        """Return this collection, or its `consolidate()` where too many verbs would call each other directly."""
        return self if self.row < IN_A_ROW else self.consolidate()

    def _linear(self, verb: str, f: Callable[[Changes], Changes]) -> "Collection[Any]":
        made = Collection[Any](self.region, self)

        def take(time: Time, changes: Changes) -> None:
            if new := f(changes):
                made.give(time, new)

        self.listen(noted(verb, Site.here(), take))
        return made._cut()

    def _reduced(self, verb: str, parts: Parts, compute: Compute) -> "Collection[Any]":
        made = Collection[Any](self.region)
        return self._into(Reduce(self.region, Site.here(), verb, compute, made.give), parts, made)

    def _foremost(self, verb: str, n: int, *, falling: bool) -> "Collection[Any]":
        made = Collection[Any](self.region)
        reduce = Foremost(self.region, Site.here(), verb, n, made.give, falling=falling)
        return self._into(reduce, pairs(verb), made)

    def _into(self, reduce: Reduce, parts: Parts, made: "Collection[Any]") -> "Collection[Any]":
        self.listen(noted(reduce.verb, reduce.site, lambda time, changes: reduce.take(time, parts(changes))))
        return made


def iterate(
    body: Callable[..., "tuple[Collection[Any], ...]"], *initial: Collection[Any], rounds: int = ROUNDS
) -> tuple[Collection[Any], ...]:
    """Iterate several collections that depend on each other until none of them changes.

    `body` is called once, with a collection for each of the `initial` ones. It must return a tuple with as many: their
    contents after one round. It may use collections from outside. `iterate` returns their final contents.

    Raises:
        CompositionError: `body` returns something else.
        DivergenceError: at a complete time, there are still changes after the given number of `rounds`.
    """
    site = Site.here()
    if not isinstance(rounds, int) or rounds < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
        raise CompositionError(f"iterate() at {site} needs a number of rounds of at least 1, but got {rounds!r}")
    region = _deepest(initial, "iterate")
    loop = Iteration(region, site, rounds)
    variables: list[Collection[Any]] = []
    delays: list[Delay] = []
    for collection in initial:
        entered = collection.enter(region).enter(loop.body)
        variable = Collection[Any](loop.body, entered)
        delay = Delay(loop, variable.give)
        entered.listen(variable.give)
        # From round 1 on, the body's result replaces the initial records, so these are removed there.
        entered.listen(partial(delay.take, sign=-1))
        variables.append(variable)
        delays.append(delay)
    results: Any = body(*variables)
    if not isinstance(results, tuple) or len(cast("tuple[Any, ...]", results)) != len(initial):
        raise CompositionError(
            f"the body of iterate() at {site} must return a tuple of {len(initial)} collections, one for each of its "
            f"arguments, but returned {results!r}"
        )
    insides: list[Collection[Any]] = []
    for delay, result in zip(delays, cast("tuple[Any, ...]", results), strict=True):
        if not isinstance(result, Collection):
            raise CompositionError(f"the body of iterate() at {site} must return collections, but returned {result!r}")
        inside = cast("Collection[Any]", result).enter(loop.body)
        inside.listen(delay.take)
        insides.append(inside)
    loop.close()
    return tuple(inside.leave(loop) for inside in insides)


def _deepest(collections: "Sequence[Collection[Any]]", verb: str) -> Region:
    """The innermost region of some collections, which all of them can enter."""
    for each in collections:
        if not isinstance(each, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
            raise CompositionError(f"{verb}() at {Site.here()} needs collections, but got {each!r}")
    return max((each.region for each in collections), key=lambda region: region.depth)
