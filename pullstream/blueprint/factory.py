"""Factories: a module is written once, as a function, and called to compose a blueprint.

Two phases stay apart. Calling a factory checks the arguments and keeps them, so that a blueprint can be looked at,
compared, pickled and used again; only a run calls the function itself with them, which says what the run works with.
The function's signature is all there is to say: it gives the module its name, its arguments, its options (those that
are by keyword, and not as by default) and its checks, which stand beside the types of its parameters:

    count: Annotated[int, Count(1)] | None = None

Every callable in `Annotated` is a check: it is called with the `Call` and the argument, unless that is the default, and
gives the argument that is kept, or refuses it. `*parts` and `**parts` are checked as one
tuple, one dict. A check may have a method `below(module, argument)`, too: modules that come right below this one.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import reduce
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import attrs

from pullstream.blueprint.advice import nearest
from pullstream.blueprint.modules import Blueprint, Module
from pullstream.blueprint.site import Site
from pullstream.errors import CompositionError

F = TypeVar("F", bound=Callable[..., Any])

Check: TypeAlias = Callable[["Call", Any], Any]


@attrs.define
class Call:
    """A call of a factory, as its checks see it."""

    module: str
    _given: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    _defaults: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    name: str = ""
    """The argument that is checked."""

    def __getitem__(self, name: str) -> Any:
        """An argument, also one that was left out."""
        return self._given[name] if name in self._given else self._defaults[name]

    def about(self, name: str) -> "Call":
        """The same, for a check that is to call its argument by another name."""
        return Call(self.module, self._given, self._defaults, name)

    def refuse(self, text: str) -> CompositionError:
        """The error that says what is wrong, where; to be raised."""
        place = self.module if self.module.endswith(")") else f"{self.module}()"
        return CompositionError(f"{place} at {Site.here()} {text}")


@attrs.frozen
class Made:
    """The maker of what a run works with: the function that was decorated, found where its factory is."""

    factory: Any

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Make what a run works with, new for each run."""
        return self.factory.opening(*args, **options)


class Form:
    """The parameters of a factory, and how arguments are checked.

    What it costs to know that is paid at the first call, and not when a hundred factories are imported.
    """

    def __init__(self, function: Callable[..., Any], supplied: int, checks: Mapping[str, tuple[Any, ...]]) -> None:
        self.function = function
        self.name = function.__name__
        self._supplied = supplied
        """The number of arguments that a run adds in front."""
        self._checks = checks
        self._ready = False

    def _prepare(self) -> None:
        parameters = [*inspect.signature(self.function).parameters.values()][self._supplied :]
        self._positional = tuple(p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD})
        self._keywords = {p.name for p in parameters if p.kind in {p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD}}
        self._options = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self._rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        self._others = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
        several = {self._rest, self._others}
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._required = {p.name for p in parameters if p.default is p.empty and p.name not in several}
        # The last option's module comes first: what `on_error` brings is right below what it is about.
        self._below: list[tuple[str, Any]] = [
            (name, check) for name, checks in self._checks.items() for check in checks if hasattr(check, "below")
        ][::-1]
        self._together: Callable[[Call], None] | None = getattr(self.function, "together", None)
        self._ready = True

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, checked; without those that are as by default."""
        if not self._ready:
            self._prepare()
        given = self._bound(args, kwargs)
        if self._checks or self._together:
            call = Call(self.name, given, self._defaults)
            for name, checks in self._checks.items():
                if name in given:
                    call.name = name
                    for check in checks:
                        given[name] = check(call, given[name])
            if self._together is not None:
                self._together(call)
        return given

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names, keywords = self._positional, self._keywords
        given: dict[str, Any] = dict(zip(names, args, strict=False))
        if self._rest is not None:
            given[self._rest] = args[len(names) :]
        elif len(args) > len(names):
            raise self._refusal(args, kwargs)
        others: dict[str, Any] = {}
        for name, value in kwargs.items():
            into = given if name in keywords else others
            if name in into or (into is others and self._others is None):
                raise self._refusal(args, kwargs)
            into[name] = value
        if not self._required <= given.keys():
            raise self._refusal(args, kwargs)
        if self._others is not None:
            given[self._others] = others
        for name, default in self._defaults.items():
            if name in given and _same(given[name], default):
                del given[name]
        return given

    def _refusal(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> CompositionError:
        """The refusal of arguments that a function does not take, as Python itself words it."""
        signature = inspect.signature(self.function)
        names = [*signature.parameters]
        try:
            signature.bind(*[None] * self._supplied, *args, **kwargs)
        except TypeError as exc:
            hint = next((nearest(name, names[self._supplied :]) for name in kwargs if name not in names), "")
            first = ("ctx",) if self._supplied == 1 else ("upstream", "ctx")[: self._supplied]
            if not hint and self._supplied and "ctx" not in names and "context" not in names:
                hint = (
                    f"; a run calls it with {' and '.join(first)} in front of its own arguments, and so it must take "
                    f"them: async def {self.name}({', '.join([*first, *names])})"
                )
            return CompositionError(f"{self.name}() at {Site.here()}: {exc}{hint}")
        # Python 3.13 overlooks one that is missing where its name may be a keyword of `**more`.
        missing = next(name for name in names[self._supplied + len(args) :] if name in self._required)
        return CompositionError(
            f"{self.name}() at {Site.here()}: {missing!r} parameter is positional only, and missing"
        )

    def shown(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
        """The arguments and the options as one would write them."""
        options = tuple([(name, given[name]) for name in self._options if name in given])
        if self._others is not None:
            options += tuple(given[self._others].items())
        rest = () if self._rest is None else given[self._rest]
        names = self._positional
        count = len(names)
        while count and not rest and names[count - 1] not in given:
            count -= 1
        return (*[given[name] if name in given else self._defaults[name] for name in names[:count]], *rest), options

    def below(self, module: Module, given: Mapping[str, Any]) -> tuple[Module, ...]:
        """The modules that come with `module`."""
        found: tuple[Module, ...] = ()
        for name, check in self._below:
            if name in given:
                found += check.below(module, given[name])
        return found


def _same(value: Any, default: Any) -> bool:
    # Others may compare in ways of their own.
    return value is default or (value.__class__ is default.__class__ and value.__class__ in _PLAIN and value == default)


_PLAIN: Final = frozenset({bool, int, float, str})


def factory(
    function: Callable[..., Any],
    blueprint: type[Blueprint],
    opening: Callable[..., Any] | None = None,
    supplied: int = 0,
    *,
    gives: Any = None,
) -> Any:
    """The factory of a module, which is called as `function` is, and looks like it.

    A run calls `opening` with the arguments, in front of which it adds as many as are `supplied`. `gives` is what the
    factory is shown to give, where that is not what the function does.
    """
    form = Form(function, supplied, _checks(function, supplied))

    def compose(*args: Any, **kwargs: Any) -> Any:
        given = form.given(args, kwargs)
        module = Module(form.name, made, *form.shown(given))
        return blueprint((module, *form.below(module, given)))

    made = Made(compose)
    vars(compose)["opening"] = opening or function
    return _like(compose, function, supplied, gives)


def checked(function: F, /) -> F:
    """Decorate a function that composes by itself: its arguments are checked as those of a module are."""
    form = Form(function, 0, _checks(function, 0))

    def call(*args: Any, **kwargs: Any) -> Any:
        args, options = form.shown(form.given(args, kwargs))
        return function(*args, **dict(options))

    return cast("F", _like(call, function, 0))


def together(check: Callable[[Call], None]) -> Callable[[F], F]:
    """Decorate a module's function: its arguments are also checked as a whole, after each by itself."""

    def decorate(function: F) -> F:
        vars(function)["together"] = check
        return function

    return decorate


def _checks(function: Callable[..., Any], supplied: int) -> dict[str, tuple[Any, ...]]:
    """The checks of the parameters, which are then annotated by their types alone: those are for people to read."""
    if supplied or inspect.isclass(function):
        parameters = [*inspect.signature(function).parameters.values()][supplied:]
        annotations = {parameter.name: parameter.annotation for parameter in parameters}
    else:
        annotations = function.__annotations__
    found: dict[str, tuple[Any, ...]] = {}
    for name, annotation in annotations.items():
        plain, checks = _apart(read_annotation(annotation, function))
        if checks:
            found[name] = checks
            annotations[name] = plain
    return found


def _apart(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """The type of a parameter, and its checks; those of a type that may be None instead let None pass."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return annotation.__origin__, tuple(check for check in annotation.__metadata__ if callable(check))
    if origin in {Union, UnionType}:
        parts = [_apart(part) for part in get_args(annotation)]
        if checks := tuple(_UnlessNone(check) for _, several in parts for check in several):
            return reduce(lambda one, other: one | other, [plain for plain, _ in parts]), checks
    return annotation, ()


@attrs.frozen
class _UnlessNone:
    check: Check

    def __call__(self, call: Call, value: Any) -> Any:
        return None if value is None else self.check(call, value)


def read_annotation(annotation: Any, function: Callable[..., Any]) -> Any:
    """An annotation that may be kept as text, as by `from __future__ import annotations`.

    One that can be read by type checkers alone stays text; there is no check in it.
    """
    if not isinstance(annotation, str):
        return annotation
    made = inspect.unwrap(function.__init__ if inspect.isclass(function) else function)
    try:
        return eval(annotation, getattr(made, "__globals__", {}))  # noqa: S307 - the program's own text
    except Exception:  # noqa: BLE001 - a name that is imported for type checkers, say
        return annotation


def _like(
    made: Callable[..., Any], function: Callable[..., Any], supplied: int, gives: Any = None
) -> Callable[..., Any]:
    """Give `made` the name, the text, the source and the parameters of what was decorated."""
    vars(made)["__wrapped__"] = function
    if supplied or inspect.isclass(function):
        signature = inspect.signature(function)
        parameters = [*signature.parameters.values()][supplied:]
        own = [each.replace(annotation=_apart(each.annotation)[0]) for each in parameters]
        returns = signature.return_annotation if gives is None else gives
        vars(made)["__signature__"] = signature.replace(parameters=own, return_annotation=returns)
    made.__name__ = function.__name__
    made.__qualname__ = function.__qualname__
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    return made
