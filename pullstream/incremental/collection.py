"""Collections that are maintained while what they are made of changes: the verbs of a program."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from pullstream.authoring import Site
from pullstream.errors import CompositionError
from pullstream.incremental.operators import (
    ITSELF,
    SUM,
    Arrangement,
    Changes,
    Compute,
    Delay,
    JoinByKey,
    Listener,
    Parts,
    Reduce,
    Together,
)
from pullstream.incremental.region import Iteration, Region
from pullstream.incremental.trace import Time

A = TypeVar("A", bound=Hashable)
A_co = TypeVar("A_co", bound=Hashable, covariant=True)
B = TypeVar("B", bound=Hashable)
K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)
W = TypeVar("W", bound=Hashable)
N = TypeVar("N", bound=int)

ROUNDS = 100_000
"""The rounds after which an iteration is said to have no end, unless it is told."""


def _nested(key: Any, value: Any, other: Any) -> Any:
    return key, (value, other)


class Collection(Generic[A_co]):
    """Records, each any number of times, that come and go; what is made of it changes as it does.

    A program is a function from collections to collections, of these verbs; `maintain` makes a module of it. Records
    are hashable. A verb that says "by key" wants records that are pairs, of a key and a value.
    """

    def __init__(self, region: Region) -> None:
        self.region = region
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
        made = Collection[A_co | B](region)
        for each in (self, *others):
            each.enter(region).listen(made.give)
        return made

    # ---- by key

    def join(
        self: "Collection[tuple[K, V]]",
        other: "Collection[tuple[K, W]]",
        make: Callable[[K, V, W], B] = _nested,
    ) -> "Collection[B]":
        """A record for each two of one key: `(key, (value, value of other))`, or what `make` makes of the three."""
        region = _deepest((self, other), "join")
        made = Collection[B](region)
        JoinByKey(region, make, made.give).place(
            self.enter(region).arrangement("join"), other.enter(region).arrangement("join")
        )
        return made

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

        It is called when any of them changes, and not for a key that has none.
        """

        def compute(key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            made: dict[Any, int] = {}
            for result in f(key, counts):
                record = key, result
                made[record] = made.get(record, 0) + 1
            return made

        return self._reduced("reduce", _pairs("reduce"), compute)

    def min(self: "Collection[tuple[K, V]]") -> "Collection[tuple[K, V]]":
        """The least value of each key."""
        return self._reduced("min", _pairs("min"), lambda key, counts: {(key, min(counts)): 1})

    def max(self: "Collection[tuple[K, V]]") -> "Collection[tuple[K, V]]":
        """The greatest value of each key."""
        return self._reduced("max", _pairs("max"), lambda key, counts: {(key, max(counts)): 1})

    def sum(self: "Collection[tuple[K, N]]") -> "Collection[tuple[K, int]]":
        """The sum of the values of each key, which are whole numbers.

        They weigh in the change itself, so that a key keeps two numbers however many values it has.
        """

        def parts(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
            for key, value, diff in _pairs("sum")(changes):
                yield key, ITSELF, diff
                yield key, SUM, cast("int", value) * diff

        def compute(key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            return {(key, counts.get(SUM, 0)): 1}

        return self._reduced("sum", parts, compute)

    def top(self: "Collection[tuple[K, V]]", n: int) -> "Collection[tuple[K, V]]":
        """The `n` greatest values of each key, each as often as it is there."""
        if n < 1:
            raise CompositionError(f"top() at {Site.here()} needs a number of at least 1, and got {n!r}")

        def compute(key: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            made: dict[Any, int] = {}
            left = n
            for value in sorted(counts, reverse=True):
                made[key, value] = min(left, counts[value])
                left -= made[key, value]
                if not left:
                    break
            return made

        return self._reduced("top", _pairs("top"), compute)

    # ---- by record

    def count(self) -> "Collection[tuple[A_co, int]]":
        """`(record, how often it is there)`."""
        return self._reduced("count", _records, lambda record, counts: {(record, counts[ITSELF]): 1})

    def distinct(self) -> "Collection[A_co]":
        """Each record once, if it is there at all."""
        return self._reduced("distinct", _records, lambda record, _: {record: 1})

    def threshold(self, f: Callable[[A_co, int], int]) -> "Collection[A_co]":
        """Each record as often as `f` says of it and of how often it is there."""

        def compute(record: Any, counts: dict[Any, int]) -> Mapping[Any, int]:
            count = f(record, counts[ITSELF])
            return {record: count} if count else {}

        return self._reduced("threshold", _records, compute)

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
                    f"return it, iterate(body, ...) gives what it comes to"
                )
            made = self._inside[inside] = Collection[A_co](inside)
            give = made.give
            self.enter(inside.loop.region).listen(lambda time, changes: give((*time, 0), changes))
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
        made = Collection[A_co](loop.region)
        self.enter(loop.body).listen(lambda time, changes: made.give(time[:-1], changes))
        return made

    def arrangement(self, verb: str) -> Arrangement:
        """The records by key, kept once for all that ask for it."""
        if self._arranged is None:
            self._arranged = Arrangement(self.region.trace(), _pairs(verb))
            self.listen(_noted(verb, self._arranged.take))
        return self._arranged

    def _linear(self, verb: str, f: Callable[[Changes], Changes]) -> "Collection[Any]":
        made = Collection[Any](self.region)

        def take(time: Time, changes: Changes) -> None:
            if new := f(changes):
                made.give(time, new)

        self.listen(_noted(verb, take))
        return made

    def _reduced(self, verb: str, parts: Parts, compute: Compute) -> "Collection[Any]":
        made = Collection[Any](self.region)
        reduce = Reduce(self.region, Site.here(), verb, compute, made.give)
        self.listen(_noted(verb, lambda time, changes: reduce.take(time, parts(changes))))
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
    region = _deepest(initial, "iterate")
    loop = Iteration(region, site, rounds)
    variables: list[Collection[Any]] = []
    delays: list[Delay] = []
    for collection in initial:
        variable = Collection[Any](loop.body)
        delay = Delay(loop, variable.give)
        entered = collection.enter(region).enter(loop.body)
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
    left: list[Collection[Any]] = []
    for delay, result in zip(delays, cast("tuple[Any, ...]", results), strict=True):
        if not isinstance(result, Collection):
            raise CompositionError(f"the body of iterate() at {site} is to give collections, and gave {result!r}")
        inside = cast("Collection[Any]", result).enter(loop.body)
        inside.listen(delay.take)
        left.append(inside.leave(loop))
    loop.close()
    return tuple(left)


def _deepest(collections: "Sequence[Collection[Any]]", verb: str) -> Region:
    """The region that all of them can enter: the innermost of theirs."""
    for each in collections:
        if not isinstance(each, Collection):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user's argument
            raise CompositionError(f"{verb}() at {Site.here()} needs collections, and got {each!r}")
    return max((each.region for each in collections), key=lambda region: region.depth)


def _noted(verb: str, take: Listener) -> Listener:
    """Add to a failure in which verb of the program it came up."""
    site = Site.here()

    def noting(time: Time, changes: Changes) -> None:
        try:
            take(time, changes)
        except Exception as exc:
            if not getattr(exc, "__notes__", None):
                exc.add_note(f"in {verb}() at {site}")
            raise

    return noting


def _pairs(verb: str) -> Parts:
    def parts(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
        for record, diff in changes:
            try:
                key, value = record
            except (TypeError, ValueError):
                raise TypeError(
                    f"{verb}() goes by key, and needs records that are pairs of a key and a value, not {record!r}"
                ) from None
            yield key, value, diff

    return parts


def _records(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
    for record, diff in changes:
        yield record, ITSELF, diff
