"""Modules and blueprints: tuples of modules that can be inspected, compared, drawn, fused and pickled.

A blueprint can be opened any number of times. Composing concatenates the tuples and acquires nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint.shown import shown_argument
from pullstream.blueprint.site import Site
from pullstream.errors import CompositionError, ReuseError
from pullstream.late import PROVIDED

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


def _parts(module: "Module") -> tuple[object, ...]:
    parts: list[object] = []
    for value in (*module.args, *dict(module.options).values()) if module.options else module.args:
        if isinstance(value, (tuple, dict)):
            several = cast("Any", value.values() if isinstance(value, dict) else value)
            # Anything else is data, and may be long.
            parts += several if isinstance(next(iter(several), None), Blueprint) else ()
        else:
            parts.append(value)
    return tuple(parts)


@attrs.frozen
class Module:
    """A module of a blueprint: the function that makes its work, and the arguments.

    Each run calls `make(*args)`, which returns a kernel (source, transformer), a stateless stage (transformer) or the
    body of a sink, and acquires nothing.
    """

    name: str
    make: Callable[..., Any] = attrs.field(repr=False)
    args: tuple[object, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    site: Site = attrs.field(factory=Site.here, eq=False, repr=False, kw_only=True)
    label: str | None = attrs.field(default=None, kw_only=True)
    follows: bool = attrs.field(default=False, kw_only=True)
    """Whether it was inserted because of an argument of the module in front of it; the user did not write it."""
    parts: tuple[object, ...] = attrs.field(
        init=False, eq=False, repr=False, default=attrs.Factory(_parts, takes_self=True)
    )
    """The arguments, and in place of a tuple or dict of blueprints, each of these."""

    def __str__(self) -> str:
        shown = [shown_argument(arg) for arg in self.args]
        shown += [f"{key}={shown_argument(value)}" for key, value in self.options]
        text = f"{self.name}({', '.join(shown)})"
        return text if self.label is None else f"{text}.named({self.label!r})"

    def made(self, run: Any = None) -> Any:
        """Make a run's work, new for each run. Arguments that can be used once need the run."""
        args: Sequence[Any] = self.args
        for arg in args:
            if isinstance(arg, OneShot):
                args = [cast("OneShot[Any]", arg).take(self, run) if isinstance(arg, OneShot) else arg for arg in args]
                break
        return self.make(*args, **dict(self.options)) if self.options else self.make(*args)


class OfOneRun:
    """An argument that belongs to one run, or to one run at a time; inspecting a pipeline does not touch it."""

    def give_back(self, run: object) -> None:
        """Forget a run that was refused before it began, if it has taken the argument."""


class OneShot(OfOneRun, Generic[T]):
    """An argument that can be used once: opening it a second time, or pickling it, raises an error."""

    def __init__(self, value: T) -> None:
        self.value: T | None = value
        """The argument, for inspection; None once it has been taken."""
        self._shown = shown_argument(value)

    def take(self, module: Module, run: Any) -> T:
        """Return the argument; only the first call may do so, unless its run is refused before it begins."""
        if self.value is None:
            raise ReuseError(
                f"{module.name}({self._shown}), composed at {module.site}, was opened a second time, but its argument "
                f"can be read only once: give it a collection, or compose it again for each run"
            )
        value, self.value = self.value, None
        if not run.begun:
            run.taken[self] = value
        return value

    @override
    def give_back(self, run: Any) -> None:
        self.value = run.taken.pop(self, self.value)

    def same(self, other: "OneShot[Any]") -> bool:
        """Whether both hold the same object."""
        return self is other or (self.value is not None and self.value is other.value)

    def __repr__(self) -> str:
        return self._shown

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a module that reads {self._shown} cannot be pickled: it can be read only once, here")


@attrs.frozen
class Blueprint:
    """A composition of modules, made by `pipe()`; see `Source`, `Transformer`, `Sink` and `pullstream.Pipeline`."""

    modules: tuple[Module, ...]
    kind: ClassVar[str]

    def named(self, label: str) -> Self:
        """Return the same blueprint with its last module called `label` in `at=`, explanations and errors.

        >>> import pullstream as ps
        >>> ps.map(str.upper).named("shout")
        map(str.upper).named('shout')
        """
        if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a user's argument
            raise CompositionError(f"named() at {Site.here()} needs a string, but got {label!r}")
        *first, last = self.modules
        return attrs.evolve(self, modules=(*first, attrs.evolve(last, label=label)))

    def __repr__(self) -> str:
        shown = [str(module) for module in self.modules if not module.follows or module.label]
        return shown[0] if len(shown) == 1 else f"pipe({', '.join(shown)})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Show the blueprint in a notebook: as a picture, or as text where pictures are not possible."""
        del include, exclude
        shown = {"text/plain": repr(self)}
        # Displaying must not fail; a run will report the error.
        with suppress(Exception):
            # Drawing depends on runs, and nothing else in this package does.
            shown["image/svg+xml"] = PROVIDED["picture"](self)
        return shown

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError(f"a blueprint cannot be iterated; run it: {self._how_to_run()}")

    if not TYPE_CHECKING:
        # Other libraries compose and run like this; the errors say how to write it here. Type checkers do not see it.

        def __or__(self, other: object) -> NoReturn:
            raise TypeError("modules are composed with pipe: ps.pipe(source, transformer, ..., sink)")

        __ror__ = __rshift__ = __rrshift__ = __or__

        def __aiter__(self) -> NoReturn:
            raise TypeError(
                f"a {self.kind} cannot be iterated; read a source with "
                f"`async with ps.aiterate(source) as values: async for value in values`"
            )

        def __await__(self) -> NoReturn:
            raise TypeError(f"a {self.kind} cannot be awaited; run a pipeline with `await ps.arun(pipeline)`")

        def __getattr__(self, name: str) -> NoReturn:
            hint = "" if name.startswith("_") else PROVIDED["method"](name)
            raise AttributeError(f"a {self.kind} has no attribute {name!r}{hint}")

    def _how_to_run(self) -> str:
        return f"{self!r} is a {self.kind}, and ps.run needs a complete pipeline, from a source to a sink"


def refuse_sharing(blueprint: Blueprint) -> None:
    """Refuse a blueprint in which two modules read from one iterator: each would miss the other's values."""
    shots: list[tuple[Module, OneShot[Any]]] = []
    for module, shot in _shots(blueprint):
        for other, taken in shots:
            if taken.same(shot):
                raise ReuseError(
                    f"{module}, composed at {module.site}, and {other}, composed at {other.site}, would read from "
                    f"the same object, which can be read only once: give each a collection, or read it in one "
                    f"place and share the stream with tee() or fork()"
                )
        shots.append((module, shot))


def give_back(blueprint: Blueprint, run: object) -> None:
    """Let other runs have the arguments that a run has taken, because it was refused before it began."""
    for module in blueprint.modules:
        for part in module.parts:
            if isinstance(part, OfOneRun):
                part.give_back(run)
            elif isinstance(part, Blueprint):
                give_back(part, run)


def _shots(blueprint: Blueprint) -> Iterator[tuple[Module, OneShot[Any]]]:
    """The one-shot arguments, including those of blueprints in arguments, each with its module."""
    for module in blueprint.modules:
        if module.follows:
            # Its arguments are also stored in the module in front of it.
            continue
        for part in module.parts:
            if isinstance(part, OneShot):
                yield module, part
            elif isinstance(part, Blueprint):
                yield from _shots(part)


@attrs.frozen(repr=False)
class Source(Blueprint, Generic[T_co]):
    """A blueprint that produces values of type `T_co`."""

    kind = "source"

    @override
    def _how_to_run(self) -> str:
        return (
            f"ps.run(ps.pipe({self!r}, ps.collect())); or read its values one by one with "
            f"`for value in ps.iterate({self!r})`"
        )


@attrs.frozen(repr=False)
class Transformer(Blueprint, Generic[A_contra, T_co]):
    """A blueprint that consumes values of one type and produces values of another."""

    kind = "transformer"

    if TYPE_CHECKING:

        def _takes(self, value: A_contra, /) -> None: ...
        def _gives(self, source: Source[A_contra], /) -> Source[T_co]: ...


@attrs.frozen(repr=False)
class Sink(Blueprint, Generic[A_contra, R_co]):
    """A blueprint that consumes values and ends with a result."""

    kind = "sink"

    if TYPE_CHECKING:

        def _takes(self, value: A_contra, /) -> None: ...
        def _results(self, source: Source[A_contra], /) -> R_co: ...
