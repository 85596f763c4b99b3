"""Short digests of arguments: equal in every process, and different for arguments that do different things.

Values are pickled into a digest, except those that pickle by name or not at all. Functions are represented by their
code and the values they refer to (`callables`), and blueprints by their modules.
"""

import copyreg
import hashlib
import pickle
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Module, OneShot, Site
from pullstream.blueprint.factory import Made
from pullstream.blueprint.shown import ADDRESS
from pullstream.frames import OURS
from pullstream.journal import callables
from pullstream.journal.callables import PLAIN, root, type_name

SIZE: Final = 16

MOST: Final = 50_000
"""The largest number of objects that are inspected among those a module's functions refer to."""

_LIVE: Final = frozenset(
    {"trio", "asyncio", "threading", "_thread", "queue", "_queue", "multiprocessing", "logging"}
) | {*("weakref", "contextvars", "_contextvars")}
"""Modules whose objects belong to a process, not to a program: locks, queues, loggers. Only their types count."""


_BEGUN: Final[dict[type, str]] = {types.GeneratorType: "gi", types.AsyncGeneratorType: "ag", types.CoroutineType: "cr"}
"""Types of calls that are suspended or not yet started, with the prefixes of their attributes."""


@attrs.frozen
class Digested:
    """A digest of an object, with its parts."""

    digest: bytes
    parts: dict[str, str]
    """The parts that may differ in another version of the object: the name and the text form of each."""
    unknown: tuple[str, ...]
    """The parts that cannot be compared."""


_seen: dict[tuple[int, str | None], tuple["weakref.ref[object]", Digested]] = {}
"""Digests of functions and the objects they refer to, as first seen in this process; kept as long as the objects."""


class Look:
    """An inspection of a module's arguments. With `names`, functions and callable objects count by name only."""

    def __init__(self, *, names: bool = False, home: str | None = None, outer: "Look | None" = None) -> None:
        self.names = names
        self.home = home
        """The package of the inspected function: members of other installed packages count by name only."""
        self.parts: dict[str, str] = {}
        self.unknown: list[str] = []
        self._inside: tuple[int, ...] = ()
        self._parted: dict[int, tuple[object, bytes]] = {} if outer is None else outer._parted  # noqa: SLF001
        """Objects that functions refer to, each inspected once, because they may refer to each other."""

    def digest(self, value: object, part: str) -> bytes:
        """Return the digest of a value. If it cannot be compared, add `part` to `unknown`."""
        try:
            with warnings.catch_warnings():
                # Ignore the deprecation of pickling itertools objects.
                warnings.simplefilter("ignore")
                return self._pickled(value)
        except Exception as exc:  # noqa: BLE001 - whatever a user's class raises, it cannot be compared
            self._cannot(part, value, exc)
            return type_name(type(value)).encode()

    def _pickled(self, value: object) -> bytes:
        hashed = hashlib.sha256()
        _Pickled(hashed, self).dump(value)
        return hashed.digest()[:SIZE]

    def part_digest(self, part: str, value: object) -> bytes:
        """Return the digest of a value and store it as a named part, so that a difference can name the part."""
        digest = self.digest(value, part)
        self.parts[part] = repr(value) if type(value) in {type(None), bool, int, float} else digest.hex()
        return digest

    def _cannot(self, part: str, value: object, exc: Exception) -> None:
        if not self.names:
            self.unknown.append(f"{part} ({type(value).__name__}: {exc})")

    def first_seen(
        self, value: object, part: str, describe: "Callable[[callables.AnyLook], Any]", home: str | None
    ) -> Any:
        """Return the digest of an object as first seen in this process: it may change its own state during a run."""
        if id(value) in self._inside:
            return "itself", part
        key = id(value), self.home
        seen = None if self.names else _seen.get(key)
        if seen is None or seen[0]() is not value:
            look = Look(names=self.names, home=home, outer=self)
            look._inside = (*self._inside, id(value))
            try:
                described = describe(look)
            except Exception as exc:  # noqa: BLE001 - as above
                look._cannot(part, value, exc)
                described = type_name(type(value))
            digested = Digested(look.digest(described, part), look.parts, tuple(look.unknown))
            seen = weakref.ref(value, lambda _: _seen.pop(key, None)), digested
            if not self.names:
                _seen[key] = seen
        self.parts.update(seen[1].parts)
        self.unknown += seen[1].unknown
        return seen[1].digest

    # ---- values that are not pickled as they are

    def instead(self, value: Any) -> Any:
        """Return the stand-in for a value; None if the value itself is pickled."""
        kind = cast("type[object]", type(value))
        if kind in {set, frozenset}:
            return kind.__name__, sorted(self._pickled(each) for each in value)
        if isinstance(value, Blueprint):
            return "blueprint", [self.module(module) for module in value.modules]
        if isinstance(value, Module):
            return "module", self.module(value)
        if isinstance(value, Site):
            return ("somewhere",)
        if isinstance(value, OneShot):
            return "one", _content(cast("OneShot[Any]", value))
        if isinstance(value, types.ModuleType):
            return "import", value.__name__
        if kind in _BEGUN:
            code, frame = (getattr(value, f"{_BEGUN[kind]}_{part}") for part in ("code", "frame"))
            return _BEGUN[kind], code, frame and dict(frame.f_locals)
        return callables.instead(value, self) or self._instead_of_object(value, kind)

    def _instead_of_object(self, value: Any, kind: type) -> Any:
        package = root(kind.__module__)
        if package in _LIVE:
            return "live", type_name(kind)
        if package == "pyspark":
            return "spark", repr(value)
        if package in OURS:
            try:
                value.__reduce_ex__(4)
            except TypeError:
                # Such as a DataFrame, whose text shows its columns.
                return "handle", type_name(kind), ADDRESS.sub("", repr(value))
        elif (self._inside or callable(value)) and callables.may_change(value, kind):
            return "held", self.held(value)
        return ("object", self._apart(value)) if self._inside else None

    def _apart(self, value: object) -> bytes:
        """Return the digest of an object pickled separately: without a memo, reference cycles would never end."""
        known = self._parted.get(id(value))
        if known is None:
            if len(self._parted) > MOST:
                raise RecursionError("it refers to too many objects")
            self._parted[id(value)] = value, b"itself"
            known = self._parted[id(value)] = value, self._pickled(_state(value))
        return known[1]

    def held(self, value: object) -> Any:
        """Return a value that represents an object whose methods are called, or that a function refers to."""
        kind = type(value)
        if not callables.may_change(value, kind):
            return value
        if self.names:
            return type_name(kind)
        return self.first_seen(value, type_name(kind), lambda _: _state(value), self.home)

    def module(self, module: Module) -> tuple[Any, ...]:
        """Return a value that represents a module of a blueprint: its name, its arguments and its maker."""
        arguments = [self.part_digest(f"its argument {n}", arg) for n, arg in enumerate(module.args, 1)]
        options = [(name, self.part_digest(f"{name}=", value)) for name, value in module.options]
        make = module.make.factory.opening if isinstance(module.make, Made) else module.make
        maker = cast("type[object]", type(make))
        # A maker of this toolkit holds only the same arguments, and its place in a source file, which does not count.
        maker_name = type_name(maker).encode() if root(maker.__module__) in OURS else self.digest(make, module.name)
        return module.name, module.label, arguments, options, maker_name


def _content(given: "OneShot[Any]") -> object:
    """Return the stand-in for a one-shot argument: an iterator counts by its state, anything else by its type."""
    value: object = given.value
    kind: type = type(value)
    return cast("object", value) if isinstance(value, Iterator) or kind in _BEGUN else type_name(kind)


def _state(value: object) -> Any:
    """Return the class of an object and its state."""
    special = copyreg.dispatch_table.get(type(value))
    reduced: Any = value.__reduce_ex__(4) if special is None else special(value)
    if isinstance(reduced, str):
        return reduced
    _, class_name, *state = reduced
    return [
        type(value),
        class_name,
        *(list(cast("Any", part)) if isinstance(part, Iterator) else part for part in state),
    ]


class _Pickled(pickle.Pickler):
    """A pickler that gives equal bytes for equal values, even if they share parts differently."""

    def __init__(self, hashed: Any, look: Look) -> None:
        file: Any = types.SimpleNamespace(write=hashed.update)
        super().__init__(file, 5)
        # No memo: with one, a value that occurs twice would differ from two equal values.
        self.fast = True
        self._look = look

    @override
    def persistent_id(self, obj: object) -> Any:
        return None if type(obj) in PLAIN else self._look.instead(obj)
