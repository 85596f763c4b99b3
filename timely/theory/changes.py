"""A batch of changes to counts, kept small by adding up the changes of each key."""

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class ChangeBatch(Generic[K]):
    """Net changes by key. Changes that cancel out are removed, so an empty batch means that nothing changed.

    >>> batch = ChangeBatch([("a", 1), ("b", 2)])
    >>> batch.update("a", -1)
    >>> list(batch), len(batch), bool(batch)
    ([('b', 2)], 1, True)
    """

    __slots__ = ("_changes",)

    def __init__(self, changes: Iterable[tuple[K, int]] = ()) -> None:
        self._changes: dict[K, int] = {}
        self.extend(changes)

    def update(self, key: K, delta: int) -> None:
        """Add `delta` to the change at `key`."""
        total = self._changes.get(key, 0) + delta
        if total:
            self._changes[key] = total
        else:
            self._changes.pop(key, None)

    def extend(self, changes: Iterable[tuple[K, int]]) -> None:
        """Add many changes."""
        for key, delta in changes:
            self.update(key, delta)

    def drain(self) -> list[tuple[K, int]]:
        """Return all changes and empty the batch."""
        changes = list(self._changes.items())
        self._changes.clear()
        return changes

    def __getitem__(self, key: K) -> int:
        return self._changes.get(key, 0)

    def __iter__(self) -> Iterator[tuple[K, int]]:
        return iter(tuple(self._changes.items()))

    def __len__(self) -> int:
        return len(self._changes)

    def __eq__(self, other: object) -> bool:
        return self._changes == other._changes if isinstance(other, ChangeBatch) else NotImplemented  # pyright: ignore[reportUnknownMemberType]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ChangeBatch({list(self._changes.items())!r})"
