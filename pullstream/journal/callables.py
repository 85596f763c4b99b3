"""Functions, classes and methods as comparable values: their code, and the values they refer to.

A function is represented by its code, its defaults and the variables it refers to. All variables of enclosing functions
count. Global variables count if they are functions, classes or immutable; of other global objects only the class
counts. State in global objects and collections does not count. Functions and classes of Python's standard library and
of this toolkit count by name only. So do those of other installed packages that a function refers to.
"""

import sys
import types
from collections.abc import Callable, Iterator, Mapping
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import PurePath
from re import Pattern
from typing import Any, Final, Protocol, cast
from uuid import UUID

from pullstream.blueprint import Blueprint, shown_callable
from pullstream.frames import OURS
from pullstream.journal.code import canonical, global_names

PLAIN: Final = frozenset({type(None), bool, int, float, complex, str, bytes, bytearray, tuple, list, dict})
"""Types of values that pickle as they are, except for their contents."""

_FIXED: Final = (
    *(type(None), bool, int, float, complex, str, bytes, range, slice, type(...), Enum, Pattern, PurePath),
    *(date, time, timedelta, tzinfo, Decimal, Fraction, UUID, Blueprint),
)
"""Types of immutable values: they are part of the program, wherever they occur."""

_SLOTS: Final = (
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType),
)

_READING: Final = frozenset({"get", "index", "count", "copy", "keys", "values", "items", "isdisjoint", "issubset"}) | {
    *("issuperset", "__getitem__", "__contains__", "__len__", "__iter__", "__eq__", "__reversed__")
}
"""Methods that do not change a collection. A collection that a method fills is not part of the program."""

_MADE: Final = frozenset({"__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__"}) | {
    *("__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"),
    *("__orig_bases__", "__parameters__", "__abstractmethods__", "_abc_impl", "__attrs_attrs__", "__match_args__"),
}
"""Class attributes that Python and libraries generate from other parts of the class."""

_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


class AnyLook(Protocol):
    """The interface of an inspection (`digest.Look`)."""

    names: bool
    """Whether functions and callable objects count by name only."""
    home: str | None
    """The package of the inspected function."""

    def digest(self, value: object, part: str) -> bytes:
        """Return the digest of a value. If it cannot be compared, add `part` to the unknown parts."""
        ...

    def part_digest(self, part: str, value: object) -> bytes:
        """Return the digest of a value and store it as a named part."""
        ...

    def held(self, value: object) -> Any:
        """Return a value that represents an object whose methods are called."""
        ...

    def first_seen(self, value: object, part: str, describe: "Callable[[AnyLook], Any]", home: str | None) -> Any:
        """Return the digest of an object as first seen in this process."""
        ...


def instead(value: Any, look: AnyLook) -> Any:
    """Return the stand-in for a function, a class or a method; None for any other value."""
    if isinstance(value, types.FunctionType):
        return "function", shown_callable(value), _function(value, look)
    if isinstance(value, type):
        return "class", _class(cast("type[object]", value), look)
    if isinstance(value, types.MethodType):
        return "method", look.digest(value.__func__, shown_callable(value.__func__)), look.held(value.__self__)
    if isinstance(value, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return _builtin(value, look)
    if isinstance(value, _SLOTS):
        return "slot", type_name(value.__objclass__), value.__name__
    if isinstance(value, types.CodeType):
        return "code", canonical(value)
    if isinstance(value, types.MappingProxyType):
        return "mapping", dict(cast("Any", value))
    if isinstance(value, (staticmethod, classmethod)):
        return type(cast("object", value)).__name__, cast("Any", value).__func__
    if isinstance(value, property):
        return "property", value.fget, value.fset, value.fdel
    if callable(value) and isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
        # For example, a cache around a function, whose contents depend on earlier calls.
        return "around", type(cast("object", value)).__name__, cast("Any", value).__wrapped__
    return None


def may_change(value: object, kind: type) -> bool:
    """Whether an object is an instance of a user's class and may therefore have changing state."""
    foreign = root(kind.__module__) in sys.stdlib_module_names | OURS
    # From Python 3.12 on, the offset of types with weak references is negative.
    weak = getattr(kind, "__weakrefoffset__", 0) != 0
    return weak and not foreign and not isinstance(value, (*_FIXED, type, types.FunctionType, types.MethodType))


# ---- functions


def _function(function: types.FunctionType, look: AnyLook) -> Any:
    if look.names and not _is_foreign(function, look.home):
        return None
    home, name = root(function.__module__), shown_callable(function)
    return look.first_seen(function, name, lambda inner: _described(function, inner, look.home), home)


def _described(function: types.FunctionType, look: AnyLook, home: str | None) -> Any:
    name = shown_callable(function)

    def digests(named: Iterator[tuple[str, object]], how: str) -> dict[str, bytes]:
        return {each: look.part_digest(f"{each} ({how} {name})", value) for each, value in named}

    held = digests(_closure(function), "referred to by")
    defaults = digests(_defaults(function), "a default of")
    if _is_foreign(function, home):
        return f"{function.__module__}.{function.__qualname__}", held, defaults
    code = look.part_digest(f"the code of {name}", function.__code__)
    return code, held, defaults, digests(_globals(function, look.home), "referred to by")


def _closure(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:
            yield name, "nothing yet"


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, object]]:
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    yield from zip(names[len(names) - len(values) :], values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _globals(function: types.FunctionType, home: str | None) -> Iterator[tuple[str, object]]:
    """Yield the global variables that are part of the program."""
    there = function.__globals__
    for name, *taken in dict.fromkeys(global_names(function.__code__)):
        if name not in there:
            continue
        named, value = name, there[name]
        while isinstance(value, types.ModuleType) and taken and not _is_foreign(value, home):
            attribute = taken.pop(0)
            named, value = f"{named}.{attribute}", getattr(value, attribute, None)
        if callable(value) or _is_fixed(value):
            yield named, value
        elif may_change(cast("object", value), kind := cast("type[object]", type(value))):
            # Its state does not count, but the code of its methods does.
            yield f"the class of {named}", kind


def _is_fixed(value: object) -> bool:
    if isinstance(value, (tuple, frozenset)):
        return all(_is_fixed(each) for each in cast("tuple[object, ...]", value))
    return isinstance(value, _FIXED)


# ---- methods and classes


def _builtin(value: Any, look: AnyLook) -> Any:
    owner: Any = value.__self__
    if owner is None or isinstance(owner, types.ModuleType):
        return "builtin", value.__module__, value.__qualname__
    if type(owner) in {list, dict, set, bytearray} and value.__name__ not in _READING:
        return "fills", type(owner).__name__, value.__name__
    return "method", value.__name__, look.held(owner)


def _class(cls: type, look: AnyLook) -> Any:
    if look.names or _is_foreign(cls, look.home):
        return type_name(cls)
    home = root(cls.__module__)
    return cls.__qualname__, look.first_seen(cls, cls.__qualname__, lambda inner: _members(cls, inner), home)


def _members(cls: type, look: AnyLook) -> Any:
    bases: list[Any] = [base for base in (type(cls), *cls.__bases__) if base not in {type, object}]
    if issubclass(cls, Enum):
        return bases, [(each.name, each.value) for each in cls]
    inside: Mapping[str, Any] = cast("Any", vars)(cls)
    members = {name: value for name, value in sorted(inside.items()) if name not in _MADE}
    return bases, {
        name: look.part_digest(f"{cls.__qualname__}.{name}", cast("object", value))
        for name, value in members.items()
        if _is_fixed(value) or _does(value, look.home)
    }


def _does(value: object, home: str | None) -> bool:
    """Whether a class member is code: callable, or a descriptor. Members of types from other packages do not count."""
    kind = type(value)
    known = root(kind.__module__) in sys.stdlib_module_names or not _is_foreign(kind, home)
    return known and (callable(value) or hasattr(kind, "__get__"))


# ---- names and packages


def type_name(kind: type) -> str:
    """Return the full name of a class."""
    return f"{kind.__module__}.{kind.__qualname__}"


def root(module: object) -> str:
    """Return the top-level package of a module's name."""
    return module.partition(".")[0] if isinstance(module, str) else ""


def _is_foreign(value: Any, home: str | None) -> bool:
    """Whether something is outside the user's program; `home` is a package of the program, if known."""
    module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
    package = root(module)
    if package in sys.stdlib_module_names or package in OURS:
        return True
    if home is None or package == home:
        return False
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return not _INSTALLED.isdisjoint(PurePath(file).parts)
