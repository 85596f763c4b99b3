"""Collections that are maintained while what they are made of changes: the verbs of a program."""

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
"""The rounds after which an iteration is said to have no end, unless it is told."""

IN_A_ROW: Final = 40
"""The verbs in a row that act at once, each called by the one before: Python bounds how deep calls may be."""


def _nested(key: Any, value: Any, other: Any) -> Any:
    return key, (value, other)


class Collection(Generic[A_co]):
    """Records, each any number of times, that come and go; what is made of it changes as it does.

    A program is a function from collections to collections, of these verbs; `maintain` makes a module of it. Records
    are hashable. A verb that says "by key" wants records that are pairs, of a key and a value.
    """

    def __init__(self, region: Region, *above: "Collection[Any]") -> None:
        self.region = region
        self.row: int = 1 + max((each.row for each in above), default=0)
        """The number of verbs, up to here, that act at once when a collection `above` changes."""
        self._listeners: list[Listener] = []
        self._inside: dict[Region, Collection[A_co]] = {}
        self._arranged: Arrangement | None = None

    # ---- value by value, at once

    def map(self, f: Callable[[A_co], B]) -> "Collection[B]":
        """The results of `f`, which is called when a record comes and when it goes, and says the same both times."""
        return self._linear("map", lambda changes: [(f(record), diff) for record, diff in changes])

    def filter(self, test: Callable[[A_co], object]) -> "Collection[A_co]":
        """The records for which `test` is true."""
        return self._linear("filter", lambda changes: [change for change in changes if test(change[0])])

    def flat_map(self, f: Callable[[A_co], Iterable[B]]) -> "Collection[B]":
        """All that `f` gives for each record."""
        return self._linear("flat_map", lambda changes: [(new, diff) for record, diff in changes for new in f(record)])

    def negate(self) -> "Collection[A_co]":
        """The records as often as they are there, less than nothing: with `concat`, what takes away."""
        return self._linear("negate", lambda changes: [(record, -diff) for record, diff in changes])

    def concat(self, *others: "Collection[B]") -> "Collection[A_co | B]":
        """The records of all, as often as they are in any."""
        region = _deepest((self, *others), "concat")
        entered = [each.enter(region) for each in (self, *others)]
        made = Collection[A_co | B](region, *entered)
        for each in entered:
            each.listen(made.give)
        return made._cut()

    # ---- by key

    def join(
        self: "Collection[tuple[K, V]]",
        other: "Collection[tuple[K, W]]",
        make: Callable[[K, V, W], B] = _nested,
    ) -> "Collection[B]":
        """A record for each two of one key: `(key, (value, value of other))`, or what `make` makes of the three."""
        region = _deepest((self, other), "join")
        called_with("join", make, "the key", "the value", "the value of other")
        left, right = self.enter(region), other.enter(region)
        made = Collection[B](region, left, right)
        in_join = partial(noted, "join", Site.here())
        JoinByKey(region, make, made.give).place(left.arrangement("join"), right.arrangement("join"), in_join)
        return made._cut()

    def semijoin(self: "Collection[tuple[K, V]]", keys: "Collection[K]") -> "Collection[tuple[K, V]]":
        """The records whose key is in `keys`, however often it is there."""
        marked = keys.distinct().map(lambda key: (key, None))
        return self.join(marked, lambda key, value, _: (key, value))

    def antijoin(self: "Collection[tuple[K, V]]", keys: "Collection[K]") -> "Collection[tuple[K, V]]":
        """The records whose key is not in `keys`."""
        return self.concat(self.semijoin(keys).negate())

    def reduce(
        self: "Collection[tuple[K, V]]", f: Callable[[K, Mapping[V, int]], Iterable[B]]
    ) -> "Collection[tuple[K, B]]":
        """`(key, result)` for each result that `f` gives for a key and its values, with how often each is there.

        It is called when any of them changes, with all of them, and not for a key that has none. What a change costs
        grows as the group does, then; `min`, `max`, `top`, `sum`, `count` and `distinct` find what they give without
        looking through it.
        """
        called_with("reduce", f, "the key", "how often each value is there")

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
        """The sum of the values of each key, which are whole numbers.

        They weigh in the change itself, so that a key keeps two numbers however many values it has.
        """

        def parts(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
            for key, value, diff in pairs("sum")(changes):
                yield key, ITSELF, diff
                yield key, SUM, whole(key, value) * diff

        def compute(key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            return {(key, counts.get(SUM, 0)): 1}

        return self._reduced("sum", parts, compute)

    def top(self: "Collection[tuple[K, V]]", n: int) -> "Collection[tuple[K, V]]":
        """The `n` greatest of each key's values, of which one that is there several times counts as several."""
        if n < 1:
            raise CompositionError(f"top() at {Site.here()} needs a number of at least 1, and got {n!r}")

        return self._foremost("top", n, falling=True)

    # ---- by record

    def count(self) -> "Collection[tuple[A_co, int]]":
        """`(record, how often it is there)`."""
        return self._reduced("count", records, lambda record, counts: {(record, counts[ITSELF]): 1})

    def distinct(self) -> "Collection[A_co]":
        """Each record once, if it is there at all."""
        return self._reduced("distinct", records, lambda record, _: {record: 1})

    def threshold(self, f: Callable[[A_co, int], int]) -> "Collection[A_co]":
        """Each record as often as `f` says of it and of how often it is there."""
        called_with("threshold", f, "the record", "how often it is there")

        def compute(record: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            count = index(f(record, counts[ITSELF]))
            return {record: count} if count else {}

        return self._reduced("threshold", records, compute)

    def consolidate(self) -> "Collection[A_co]":
        """The same records, whose changes come together when a time is complete, without those that cancel."""
        made = Collection[A_co](self.region)
        self.listen(Together(self.region, Site.here(), made.give).take)
        return made

    # ---- again and again

    def iterate(
        self: "Collection[B]", body: "Callable[[Collection[B]], Collection[B]]", *, rounds: int = ROUNDS
    ) -> "Collection[B]":
        """The result of `body` when it is given its own result again, beginning with these records, until that stays.

        See `iterate` for several collections that are made of one another.

        Raises:
            DivergenceError: it still changes after so many `rounds`.
        """

        def alone(variable: "Collection[B]") -> "tuple[Collection[B]]":
            return (body(variable),)

        return iterate(alone, self, rounds=rounds)[0]

    def enter(self, region: "Region | Collection[Any]") -> "Collection[A_co]":
        """The same records inside of a loop; whatever is used with a collection from there is entered by itself."""
        inside = region.region if isinstance(region, Collection) else region
        if inside is self.region:
            return self
        if inside not in self._inside:
            if inside.loop is None:
                raise CompositionError(
                    f"at {Site.here()} a collection from inside an iteration is used outside of it: have the body "
                    f"return it, iterate(body, ...) gives what it comes to. Or, if this is an iteration inside of "
                    f"that one, begin it with what is in there: outside.enter(inside).iterate(body)"
                )
            outside = self.enter(inside.loop.region)
            made = Collection[A_co](inside, outside)
            outside.listen(lambda time, changes: made.give((*time, 0), changes))
            self._inside[inside] = made._cut()
        return self._inside[inside]

    # ---- for the parts of a program

    def listen(self, listener: Listener) -> None:
        """Call a function with the changes, whenever there are some."""
        self._listeners.append(listener)

    def give(self, time: Time, changes: Changes) -> None:
        """Change."""
        for listener in self._listeners:
            listener(time, changes)

    def leave(self, loop: Iteration) -> "Collection[A_co]":
        """The records, inside a loop, as they are outside of it when all rounds are done."""
        inside = self.enter(loop.body)
        made = Collection[A_co](loop.region, inside)
        inside.listen(lambda time, changes: made.give(time[:-1], changes))
        return made._cut()

    def arrangement(self, verb: str) -> Arrangement:
        """The records by key, kept once for all that ask for it."""
        if self._arranged is None:
            self._arranged = Arrangement(self.region.keep(KeyedTrace(self.region.order)), pairs(verb))
            self.listen(noted(verb, Site.here(), self._arranged.take))
        return self._arranged

    def _cut(self) -> "Collection[A_co]":
        """Itself or, where too many verbs in a row would act at once, the same with its changes kept together."""
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
        return self._into(Reduce(self.region, Site.here(), verb, compute, made.give), verb, parts, made)

    def _foremost(self, verb: str, n: int, *, falling: bool) -> "Collection[Any]":
        made = Collection[Any](self.region)
        reduce = Foremost(self.region, Site.here(), verb, n, made.give, falling=falling)
        return self._into(reduce, verb, pairs(verb), made)

    def _into(self, reduce: Reduce, verb: str, parts: Parts, made: "Collection[Any]") -> "Collection[Any]":
        self.listen(noted(verb, reduce.site, lambda time, changes: reduce.take(time, parts(changes))))
        return made


def iterate(
    body: Callable[..., "tuple[Collection[Any], ...]"], *initial: Collection[Any], rounds: int = ROUNDS
) -> tuple[Collection[Any], ...]:
    """Find what collections come to that are made of one another, again and again, until none changes any more.

    `body` is called once, with a collection for each of the `initial` ones, and gives as many: what becomes of them in
    one round. Collections from outside may be used in it; what it returns is given here as it is in the end.

    Raises:
        CompositionError: `body` gives more, fewer or something else.
        DivergenceError: when a time is complete, and there are still changes after so many `rounds`.
    """
    site = Site.here()
    if not isinstance(rounds, int) or rounds < 1:  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
        raise CompositionError(f"iterate() at {site} needs a number of rounds of at least 1, and got {rounds!r}")
    region = _deepest(initial, "iterate")
    loop = Iteration(region, site, rounds)
    variables: list[Collection[Any]] = []
    delays: list[Delay] = []
    for collection in initial:
        entered = collection.enter(region).enter(loop.body)
        variable = Collection[Any](loop.body, entered)
        delay = Delay(loop, variable.give)
        entered.listen(variable.give)
        # What is given back takes the place of what was there at first.
        entered.listen(partial(delay.take, sign=-1))
        variables.append(variable)
        delays.append(delay)
    results: Any = body(*variables)
    if not isinstance(results, tuple) or len(cast("tuple[Any, ...]", results)) != len(initial):
        raise CompositionError(
            f"the body of iterate() at {site} is to give a tuple of {len(initial)} collections, one for each that it "
            f"is called with, and gave {results!r}"
        )
    insides: list[Collection[Any]] = []
    for delay, result in zip(delays, cast("tuple[Any, ...]", results), strict=True):
        if not isinstance(result, Collection):
            raise CompositionError(f"the body of iterate() at {site} is to give collections, and gave {result!r}")
        inside = cast("Collection[Any]", result).enter(loop.body)
        inside.listen(delay.take)
        insides.append(inside)
    loop.close()
    return tuple(inside.leave(loop) for inside in insides)


def _deepest(collections: "Sequence[Collection[Any]]", verb: str) -> Region:
    """The region that all of them can enter: the innermost of theirs."""
    for each in collections:
        if not isinstance(each, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
            raise CompositionError(f"{verb}() at {Site.here()} needs collections, and got {each!r}")
    return max((each.region for each in collections), key=lambda region: region.depth)
