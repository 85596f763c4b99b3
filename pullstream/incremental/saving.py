"""The memory of a trace in a journal: the changes of each key, split into slots so that a change rewrites few others.

The output of a program depends on the order in which changes are stored. Slots are therefore filled one after the
other, and read in order they give the changes of a key in their original order.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from typing import Any, Final

from pullstream.incremental.operators import Mark
from pullstream.incremental.trace import KeyedTrace, Time

SLOT: Final = 64
"""The number of changes in a slot. A key with no more changes has a single slot."""

Place = tuple[Hashable, Time]
Saved = list[tuple[Place, int]]


class _Slots:
    """The places of one key, in slots, in order of arrival."""

    def __init__(self) -> None:
        self.slots: dict[int, dict[Place, None]] = {}
        self._slot_of: dict[Place, int] = {}
        self._last = 0

    def put(self, slot: int, place: Place) -> None:
        """Append a place to a slot."""
        self.slots.setdefault(slot, {})[place] = None
        self._slot_of[place] = slot
        self._last = max(self._last, slot)

    def note(self, place: Place, *, there: bool) -> int:
        """Note that a place has changed, and return its slot."""
        slot = self._slot_of.get(place)
        if slot is None:
            slot = self._last
            if len(self.slots.get(slot, ())) >= SLOT:
                slot += 1
            self.put(slot, place)
        if not there:
            del self.slots[slot][place], self._slot_of[place]
        return slot


class Saving:
    """Notes which parts of a trace have changed, and saves them."""

    def __init__(self, number: int, trace: KeyedTrace, check: Callable[[object], object]) -> None:
        self._number = number
        self._trace = trace
        self._check = check
        """Refuses a value that is not found again once it is saved; keys are checked when they are saved."""
        self._large: dict[Hashable, _Slots] = {}
        self._touched: dict[Hashable, set[int]] = {}
        trace.changed = self._changed

    def _changed(self, key: Hashable, place: Place) -> None:
        if type(place[0]) is not Mark:
            self._check(place[0])
        touched = self._touched.setdefault(key, set())
        if (slots := self._large.get(key)) is not None:
            touched.add(slots.note(place, there=place in self._trace.updates.get(key, _NONE)))

    def save(self, memory: MutableMapping[Any, Any]) -> None:
        """Save the current state of everything that has changed since the last call."""
        for key, touched in self._touched.items():
            updates = self._trace.updates.get(key, _NONE)
            slots = self._large.get(key)
            if slots is None and len(updates) > SLOT:
                slots = self._large[key] = _Slots()
                touched.update(slots.note(place, there=True) for place in updates)
            if slots is None:
                self._put(memory, key, 0, updates.items())
                continue
            for slot in touched:
                self._put(memory, key, slot, [(place, updates[place]) for place in slots.slots.get(slot, ())])
                if not slots.slots.get(slot):
                    slots.slots.pop(slot, None)
            if not updates:
                del self._large[key]
        self._touched.clear()

    def _put(self, memory: MutableMapping[Any, Any], key: Hashable, slot: int, changes: Iterable[Any]) -> None:
        place = self._number, key, slot
        if saved := list(changes):
            memory[place] = saved
        elif place in memory:
            del memory[place]

    def restore(self, key: Hashable, saved: Mapping[int, Saved]) -> None:
        """Restore a key from its saved slots."""
        ordered = sorted(saved.items())
        self._trace.updates[key] = {place: diff for _, changes in ordered for place, diff in changes}
        if set(saved) != {0}:
            slots = self._large[key] = _Slots()
            for slot, changes in ordered:
                for place, _ in changes:
                    slots.put(slot, place)


_NONE: Final[Mapping[Any, int]] = {}
