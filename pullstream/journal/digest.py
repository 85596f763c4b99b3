"""Digests of arguments, in a few bytes: the same in another process, and others for what does other things.

Values are pickled into a digest, but for what pickles by its name, or not at all: functions are what their code does
and what they hold on to (`callables`), and blueprints are their modules.
"""

import copyreg
import hashlib
import pickle
import re
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Module, OneShot, Site
from pullstream.blueprint.factory import Made
from pullstream.frames import OURS
from pullstream.journal import callables
from pullstream.journal.callables import PLAIN, root, type_name

SIZE: Final = 16

ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
"""The part of an object's text that its process gives it."""

MOST: Final = 50_000
"""The most objects that are looked at of those that a module's functions hold on to."""

_LIVE: Final = frozenset(
    {"trio", "asyncio", "threading", "_thread", "queue", "_queue", "multiprocessing", "logging"}
) | {
    *("weakref", "contextvars", "_contextvars"),
}
"""Modules of objects that belong to a process, not to a program: locks, queues, loggers; known by their kind."""


_BEGUN: Final[dict[type, str]] = {types.GeneratorType: "gi", types.AsyncGeneratorType: "ag", types.CoroutineType: "cr"}
"""Calls of functions that are under way, or about to be."""


@attrs.frozen
class Digested:
    """A digest, and whatever of the object it cannot tell from others."""

    digest: bytes
    parts: dict[str, str]
    """Its parts that may be others in another version of it: a name for each, and how it looked."""
    unknown: tuple[str, ...]
    """Its parts that cannot be told from others."""


_seen: dict[tuple[int, str | None], tuple["weakref.ref[object]", Digested]] = {}
"""Digests of functions, and of what they hold on to, when this process saw them first; kept while they are there."""


class Look:
    """A look at what a module was given; with `names`, at functions and callable objects by their names alone."""

    def __init__(self, *, names: bool = False, home: str | None = None, outer: "Look | None" = None) -> None:
        self.names = names
        self.home = home
        """The package of the function that is looked at: others that are installed are known by their names."""
        self.parts: dict[str, str] = {}
        self.unknown: list[str] = []
        self._inside: tuple[int, ...] = ()
        self._parted: dict[int, tuple[object, bytes]] = {} if outer is None else outer._parted  # noqa: SLF001
        """Objects that functions hold on to, which may do so to each other, each looked at once."""

    def digest(self, value: object, part: str) -> bytes:
        """The digest of a value, which is called `part` if it cannot be told from others."""
        try:
            with warnings.catch_warnings():
                # That iterators of itertools' will not be pickled for ever is no trouble here.
                warnings.simplefilter("ignore")
                return self._pickled(value)
        except Exception as exc:  # noqa: BLE001 - whatever a user's class raises, it cannot be compared
            self._cannot(part, value, exc)
            return type_name(type(value)).encode()

    def _pickled(self, value: object) -> bytes:
        hashed = hashlib.sha256()
        _Pickled(hashed, self).dump(value)
        return hashed.digest()[:SIZE]

    def told(self, part: str, value: object) -> bytes:
        """The same, of something that is named where it is another than before."""
        digest = self.digest(value, part)
        self.parts[part] = repr(value) if type(value) in {type(None), bool, int, float} else digest.hex()
        return digest

    def _cannot(self, part: str, value: object, exc: Exception) -> None:
        if not self.names:
            self.unknown.append(f"{part} ({type(value).__name__}: {exc})")

    def first_seen(
        self, value: object, part: str, describe: "Callable[[callables.AnyLook], Any]", home: str | None
    ) -> Any:
        """The digest of an object when this process saw it first: what it keeps is its own to change while it runs."""
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

    # ---- what is not pickled as it is

    def instead(self, value: Any) -> Any:
        """The stand-in for a value; None if it is pickled."""
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
                # Such as a DataFrame's, which shows its columns.
                return "handle", type_name(kind), ADDRESS.sub("", repr(value))
        elif (self._inside or callable(value)) and callables.may_change(value, kind):
            return "held", self.held(value)
        return ("object", self._apart(value)) if self._inside else None

    def _apart(self, value: object) -> bytes:
        """The digest of an object by itself; a pickler without a memo would be lost among objects with each other."""
        known = self._parted.get(id(value))
        if known is None:
            if len(self._parted) > MOST:
                raise RecursionError("it holds on to too much")
            self._parted[id(value)] = value, b"itself"
            known = self._parted[id(value)] = value, self._pickled(_state(value))
        return known[1]

    def held(self, value: object) -> Any:
        """An object whose methods are called, or that a function refers to."""
        kind = type(value)
        if not callables.may_change(value, kind):
            return value
        if self.names:
            return type_name(kind)
        return self.first_seen(value, type_name(kind), lambda _: _state(value), self.home)

    def module(self, module: Module) -> tuple[Any, ...]:
        """A module of a blueprint: its name, and what it, and what makes it, was given."""
        arguments = [self.told(f"its argument {n}", arg) for n, arg in enumerate(module.args, 1)]
        options = [(name, self.told(f"{name}=", value)) for name, value in module.options]
        make = module.make.factory.opening if isinstance(module.make, Made) else module.make
        maker = cast("type[object]", type(make))
        # An object of this toolkit's that makes it was given the same, and knows where.
        maker_name = type_name(maker).encode() if root(maker.__module__) in OURS else self.digest(make, module.name)
        return module.name, module.label, arguments, options, maker_name


def _content(given: "OneShot[Any]") -> object:
    """Of what can be read once: what an iterator will give; what comes from elsewhere has no content yet."""
    value: object = given.value
    kind: type = type(value)
    return cast("object", value) if isinstance(value, Iterator) or kind in _BEGUN else type_name(kind)


def _state(value: object) -> Any:
    """The class of an object, and what it is made of."""
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


class _Hashing:
    """A file that is not kept."""

    def __init__(self, hashed: Any) -> None:
        self.write: Callable[[bytes], object] = hashed.update


class _Pickled(pickle.Pickler):
    """Pickles equal values to equal bytes, however often parts of them are shared."""

    def __init__(self, hashed: Any, look: Look) -> None:
        super().__init__(_Hashing(hashed), 5)
        # Without a memo, in which a value that comes twice is another thing than two equal ones.
        self.fast = True
        self._look = look

    @override
    def persistent_id(self, obj: object) -> Any:
        return None if type(obj) in PLAIN else self._look.instead(obj)
