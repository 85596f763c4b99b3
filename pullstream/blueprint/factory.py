"""Factories: a module is written once, as a function, and called to compose a blueprint.

There are two phases. Calling a factory checks the arguments and stores them, so a blueprint can be inspected, compared,
pickled and reused. Only a run calls the function itself with them, and receives the work from it. The function's
signature defines everything else: the module's name, its arguments, its options (keyword-only arguments that differ
from their defaults), and its checks, which are written beside the parameter types:

    count: Annotated[int, Count(1)] | None = None

Every callable in `Annotated` is a check. It is called with the `Call` and the argument, unless that is the default, and
returns the argument to store, or refuses it. `*parts` are checked as one tuple, `**parts` as one dict. A check may also
have a method `below(module, argument)`, which returns modules to insert directly downstream of this one.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from types import UnionType
from typing import Annotated, Any, Final, Never, TypeAlias, TypeVar, Union, cast, get_args, get_origin

import attrs

from pullstream.blueprint.advice import nearest
from pullstream.blueprint.emits import Emits
from pullstream.blueprint.modules import Blueprint, Module, Source
from pullstream.blueprint.site import Site
from pullstream.errors import CompositionError
from pullstream.frames import cut
from pullstream.signature import Signature

F = TypeVar("F", bound=Callable[..., Any])

Check: TypeAlias = Callable[["Call", Any], Any]


@attrs.define
class Call:
    """A call of a factory, as seen by its checks."""

    module: str
    _given: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    _defaults: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    name: str = ""
    """The name of the argument being checked."""
    site: Site | None = None
    """The place of the call, for errors that are made elsewhere; None if they are made during the call."""

    def __getitem__(self, name: str) -> Any:
        """Return an argument, or its default if it was left out."""
        return self._given[name] if name in self._given else self._defaults[name]

    def has(self, test: Callable[[Any], bool]) -> bool:
        """Whether another argument passes a test."""
        return any(test(value) for name, value in self._given.items() if name != self.name)

    def about(self, name: str) -> "Call":
        """Return the same call for a check that refers to its argument by another name."""
        return Call(self.module, self._given, self._defaults, name, self.site)

    def refuse(self, text: str) -> CompositionError:
        """Make the error that says what is wrong, and where; raise it."""
        place = self.module if self.module.endswith(")") else f"{self.module}()"
        return CompositionError(f"{place} at {self.site or Site.here()} {text}")


@attrs.frozen
class Example:
    """An example text that messages show for `**more`, such as `n=agg.count()`; as a check, it accepts anything."""

    text: str

    def __call__(self, _: Call, value: Any) -> Any:
        """Return the argument unchanged."""
        return value


@attrs.frozen
class Made:
    """Makes a run's work; it finds the decorated function through its factory."""

    factory: Any

    def __call__(self, /, *args: Any, **options: Any) -> Any:
        """Make a run's work, new for each run."""
        return self.factory.opening(*args, **options)

    @property
    def emits(self) -> Any:
        """The moment at which the module emits, as the decorated function says; see `Emits`."""
        return getattr(self.factory.__wrapped__, "emits", Emits.UNKNOWN)


class Form:
    """The parameters of a factory, and the checks of its arguments.

    It is prepared at the first call, so that importing a hundred factories stays cheap.
    """

    def __init__(
        self, function: Callable[..., Any], supplied: int, checks: Mapping[str, tuple[Any, ...]], *, kind: str = ""
    ) -> None:
        self.function = function
        self.name = function.__name__
        self._supplied = supplied
        """The number of arguments that a run passes before the module's own."""
        self._checks = checks
        self._kind = kind
        """The kind of module that it makes, if it is a module's factory."""
        self._ready = False

    def _prepare(self) -> None:
        parameters = [*inspect.signature(self.function).parameters.values()][self._supplied :]
        self._positional = tuple(p.name for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD})
        self._keywords = {p.name for p in parameters if p.kind in {p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD}}
        self._options = tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
        self._rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        self._unwritten = {"self", *(p.name for p in parameters if p.annotation is Never)}
        self._others = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None)
        several = {self._rest, self._others}
        self._defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
        self._required = {p.name for p in parameters if p.default is p.empty and p.name not in several}
        # The last option's module comes first: `on_error` inserts its module directly downstream of the one it handles.
        self._below: list[tuple[str, Any]] = [
            (name, check) for name, checks in self._checks.items() for check in checks if hasattr(check, "below")
        ][::-1]
        self._together: Callable[[Call], None] | None = getattr(self.function, "together", None)
        self._parameters = tuple(p.name for p in parameters if p.name not in several)
        self._ready = True

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the checked arguments by name, without those that equal their defaults."""
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
        """Make the error for arguments that do not fit the parameters: what is wrong, and how to write the call."""
        return CompositionError(f"{self.name}() at {Site.here()} {self._mistake(args, kwargs)}{self._lacks_context()}")

    def _mistake(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        names = self._positional
        if self._others is None and (unknown := next((name for name in kwargs if name not in self._keywords), None)):
            hint = nearest(unknown, self._keywords)
            return f"has no argument {unknown!r}{hint or '.'} Write {self.written()}"
        if self._rest is None and len(args) > len(names):
            hint = self._values_above(args[len(names) :])
            got, takes = len(args) - names.count("self"), len(names) - names.count("self")
            number = f"{takes} argument{'s' * (takes != 1)}" if takes else "no argument"
            return f"takes {number} by position, but got {got}. Write {self.written()}{hint}"
        if twice := next((name for name in names[: len(args)] if name in kwargs and name in self._keywords), None):
            return f"got {twice!r} twice, by position and by name; give it once"
        missing = next(name for name in self._parameters if self._lacks(name, args, kwargs))
        how = "" if missing in self._keywords else ", which is given by position"
        return f"needs the argument {missing!r}{how}. {self._reads(missing)}Write {self.written()}"

    def _lacks(self, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        given = name in self._positional[: len(args)] or (name in kwargs and name in self._keywords)
        return name in self._required and not given

    def written(self) -> str:
        """Write the call, with the names of the arguments."""
        names = [name for name in self._positional if name not in self._unwritten]
        parts = [name if name in self._required else f"{name}=..." for name in names]
        parts += [f"*{self._rest}"] * (self._rest is not None and self._rest not in self._unwritten)
        if self._others is not None:
            checks = self._checks.get(self._others, ())
            parts.append(next((check.text for check in checks if isinstance(check, Example)), "name=..."))
        parts += [f"{name}=..." for name in self._options]
        return f"{self.name}({', '.join(parts)})"

    def _values_above(self, extra: tuple[Any, ...]) -> str:
        """Return a hint if values were passed to a module that gets them from upstream."""
        above = self._kind in {"transformer", "sink"}
        if above and isinstance(extra[0], Iterable) and not isinstance(extra[0], (str, bytes)):
            return ". Its values come from the module upstream: pipe(values(...), " + f"{self.name}(...))"
        return ""

    def _reads(self, missing: str) -> str:
        """Return a hint for a source that was used like a transformer, without the sources it reads."""
        if self._kind == "source" and get_origin(self.function.__annotations__.get(missing)) is Source:
            return (
                f"{self.name} is not a transformer: a pipe begins with it, and it reads the sources in its arguments. "
            )
        return ""

    def _lacks_context(self) -> str:
        """Return a hint if the function does not accept the arguments of a run."""
        first = [*inspect.signature(self.function).parameters]
        if not self._supplied or "ctx" in first or "context" in first:
            return ""
        given = ("ctx",) if self._supplied == 1 else ("upstream", "ctx")
        return (
            f". A run calls it with {' and '.join(given)} before its own arguments, so it must accept them: "
            f"async def {self.name}({', '.join([*given, *first])})"
        )

    def shown(self, given: Mapping[str, Any]) -> tuple[tuple[Any, ...], tuple[tuple[str, Any], ...]]:
        """Return the arguments and the options as a user writes them."""
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
        """Return the modules to insert downstream of `module`."""
        found: tuple[Module, ...] = ()
        for name, check in self._below:
            if name in given:
                found += check.below(module, given[name])
        return found


def _same(value: Any, default: Any) -> bool:
    # Other types may define `==` in surprising ways.
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
    """Make the factory of a module, with the signature and docstring of `function`.

    A run calls `opening` with the arguments, after `supplied` arguments of its own. `gives` is the return type to show,
    if it differs from the function's own.
    """
    form = Form(function, supplied, _checks(function, supplied), kind=blueprint.kind)

    def compose(*args: Any, **kwargs: Any) -> Any:
        try:
            given = form.given(args, kwargs)
        except CompositionError as exc:
            cut(exc)
            raise
        module = Module(form.name, made, *form.shown(given))
        return blueprint((module, *form.below(module, given)))

    made = Made(compose)
    vars(compose)["opening"] = opening or function
    return _like(compose, function, supplied, gives)


def checked(function: F, /) -> F:
    """Decorate a function that composes by itself: its arguments are checked like a module's."""
    form = Form(function, 0, _checks(function, 0))

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            args, options = form.shown(form.given(args, kwargs))
            return function(*args, **dict(options))
        except BaseException as exc:
            cut(exc)
            raise

    return cast("F", _like(call, function, 0))


def bound(function: F, /) -> F:
    """Decorate a function so that the error for a wrong argument lists those it takes; types are not checked.

    Its annotations are not evaluated, so the names in them are not imported.
    """
    form = Form(function, 0, {})

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            try:
                return function(*args, **kwargs)
            except TypeError as exc:
                if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
                    raise
            # The function did not run, because the arguments do not fit; this raises the error that says why.
            form.given(args, kwargs)
            return function(*args, **kwargs)
        except BaseException as exc:
            cut(exc)
            raise

    return cast("F", _like(call, function, 0))


def together(check: Callable[[Call], None]) -> Callable[[F], F]:
    """Decorate a module's function: its arguments are also checked together, after each by itself."""

    def decorate(function: F) -> F:
        vars(function)["together"] = check
        return function

    return decorate


def _checks(function: Callable[..., Any], supplied: int) -> dict[str, tuple[Any, ...]]:
    """Return the checks of the parameters, and reduce their annotations to the plain types, for readers of `help`."""
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
    """Split an annotation into the plain type and its checks; checks of an optional type let None pass."""
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
    """Evaluate an annotation that is stored as text, as with `from __future__ import annotations`.

    Text that only type checkers can evaluate stays text; it contains no check.
    """
    if not isinstance(annotation, str):
        return annotation
    made = inspect.unwrap(function.__init__ if inspect.isclass(function) else function)
    try:
        return eval(annotation, getattr(made, "__globals__", {}))  # noqa: S307 - the program's own text
    except Exception:  # noqa: BLE001 - for example, a name imported only for type checkers
        return annotation


def _like(
    made: Callable[..., Any], function: Callable[..., Any], supplied: int, gives: Any = None
) -> Callable[..., Any]:
    """Copy the name, docstring, source and parameters of the decorated function to `made`."""
    vars(made)["__wrapped__"] = function
    if supplied or inspect.isclass(function):
        signature = inspect.signature(function)
        parameters = [*signature.parameters.values()][supplied:]
        own = [each.replace(annotation=_apart(each.annotation)[0]) for each in parameters]
        returns = signature.return_annotation if gives is None else gives
        signature = signature.replace(parameters=own, return_annotation=returns)
        vars(made)["__signature__"] = Signature.short(signature)
    else:
        vars(made)["__signature__"] = Signature.of(function)
    made.__name__ = function.__name__
    made.__qualname__ = function.__qualname__
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    return made
