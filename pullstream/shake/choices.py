"""The choices of a simulated run: each is normal, or a deviation that a seed or a script decides."""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, TypeAlias, TypeVar

T = TypeVar("T")

Choice: TypeAlias = tuple[str, int]
"""A choice: its place, and how many choices there were before at this place."""

Deviations: TypeAlias = Mapping[Choice, int]

SHARES: Final = (0.0, 0.0, 0.03, 0.2, 0.7)
"""The possible shares of choices that deviate; each seed takes one for each kind of choice."""


LIFE: Final = 1 << 32
"""The difference between the numbers of choices in two lives of a program."""


class Choices:
    """Decides, at each choice, whether the run deviates from the normal one, and notes where it did.

    With a seed, deviations are random. With a script, exactly those of the script are made, so that some of them can be
    left out: choices are counted per place, and a deviation left out does not shift those of other places.
    """

    def __init__(self, seed: int | None = None, script: Deviations | None = None) -> None:
        self._chance = None if seed is None else Random(seed)  # noqa: S311 - not for security
        self._script = script or {}
        self._shares: dict[str, float] = {}
        self._counts: dict[str, int] = {}
        self._first = 0
        self.deviations: dict[Choice, int] = {}
        self.descriptions: dict[Choice, str] = {}
        """The deviations in words."""
        self.on_deviation: Callable[[str], object] = lambda _: None
        """Receives each deviation in words, for the trace of the run."""

    def begin(self, life: int) -> bool:
        """Begin a life of the program, whose choices are counted by themselves; False if a script has none for it."""
        self._first = life * LIFE
        self._counts.clear()
        return self._chance is not None or any(count // LIFE == life for _, count in self._script)

    def may(self, kind: str) -> bool:
        """Whether choices of a kind may deviate."""
        if self._chance is None:
            return any(where.partition(" ")[0] == kind for where, _ in self._script)
        return self._share(kind) > 0

    def _share(self, kind: str) -> float:
        share = self._shares.get(kind)
        if share is None:
            assert self._chance is not None, "a script has no shares"
            share = self._shares[kind] = self._chance.choice(SHARES)
        return share

    def choose(
        self, kind: str, options: int, tell: Callable[[int], str], place: str = "", *, share: float | None = None
    ) -> int:
        """Return the chosen option, less than `options`; 0 is the normal one.

        `tell` describes another one. A `share` replaces the seed's share of the kind.
        """
        where = f"{kind} {place}" if place else kind
        count = self._counts.get(where, self._first)
        self._counts[where] = count + 1
        option = 0
        if self._chance is None:
            if self._script:
                option = min(self._script.get((where, count), 0), options - 1)
        else:
            share = self._share(kind) if share is None else share
            if share and self._chance.random() < share:
                option = self._chance.randrange(1, options)
        if option:
            self.deviations[where, count] = option
            self.descriptions[where, count] = told = tell(option)
            if told:
                self.on_deviation(told)
        return option

    def pick(
        self, kind: str, options: Sequence[T], tell: Callable[[T], str], place: str = "", *, share: float | None = None
    ) -> T:
        """Return one of several options; the first is the normal one."""
        return options[self.choose(kind, len(options), lambda number: tell(options[number]), place, share=share)]
