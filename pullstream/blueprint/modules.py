"""Modules and what is composed of them: a tuple of modules that can be inspected, compared, drawn, fused and pickled.

A blueprint can be opened any number of times; composing concatenates the tuples. Nothing is acquired here.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, Self, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint.shown import shown_argument
from pullstream.blueprint.site import Site
from pullstream.errors import ReuseError

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@attrs.frozen
class Module:
    """A module of a blueprint: what makes it, and with which arguments.

    `make(*args)` is called by each run: it gives a kernel (source, transformer), a stateless stage (transformer) or
    the body of a sink, and acquires nothing.
    """

    name: str
    make: Callable[..., Any] = attrs.field(repr=False)
    args: tuple[object, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    site: Site = attrs.field(factory=Site.here, eq=False, repr=False, kw_only=True)
    label: str | None = attrs.field(default=None, kw_only=True)
    follows: bool = attrs.field(default=False, kw_only=True)
    """Whether nobody wrote it: it came with the module in front of it, by whose arguments it is shown."""

    def __str__(self) -> str:
        shown = [shown_argument(arg) for arg in self.args]
        shown += [f"{key}={shown_argument(value)}" for key, value in self.options]
        text = f"{self.name}({', '.join(shown)})"
        return text if self.label is None else f"{text}.named({self.label!r})"

    def made(self) -> Any:
        """Make what a run works with, new for each run."""
        args = [cast("OneShot[Any]", arg).take(self) if isinstance(arg, OneShot) else arg for arg in self.args]
        return self.make(*args, **dict(self.options))


class OfOneRun:
    """An argument that belongs to one run, or to one at a time: who only looks at a pipeline leaves it alone."""


class OneShot(OfOneRun, Generic[T]):
    """An argument that can be used once: the second open is refused by name, and so is pickling."""

    def __init__(self, value: T) -> None:
        self._value: T | None = value
        self._shown = shown_argument(value)

    @property
    def value(self) -> T | None:
        """The argument, to be looked at; None when it has been taken."""
        return self._value

    def take(self, module: Module) -> T:
        """The argument itself, the first time."""
        if self._value is None:
            raise ReuseError(
                f"{module.name}({self._shown}), composed at {module.site}, was opened a second time, but what it was "
                f"given can be read only once: give it a collection, or compose it anew for each run",
            )
        value, self._value = self._value, None
        return value

    def same(self, other: "OneShot[Any]") -> bool:
        """Whether both are over one thing."""
        return self is other or (self._value is not None and self._value is other.value)

    def __repr__(self) -> str:
        return self._shown

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a module over {self._shown} cannot be pickled: it can be read only once, here")


@attrs.frozen
class Blueprint:
    """A composition of modules, as `pipe()` gives it; see `Source`, `Transformer`, `Sink` and `pullstream.Pipeline`."""

    modules: tuple[Module, ...]
    kind: ClassVar[str]

    def named(self, label: str) -> Self:
        """The same blueprint whose last module goes by `label` in `at=`, in explanations and in errors.

        >>> import pullstream as ps
        >>> ps.map(str.upper).named("shout")
        map(str.upper).named('shout')
        """
        *first, last = self.modules
        return attrs.evolve(self, modules=(*first, attrs.evolve(last, label=label)))

    def __repr__(self) -> str:
        shown = [str(module) for module in self.modules if not module.follows or module.label]
        return shown[0] if len(shown) == 1 else f"pipe({', '.join(shown)})"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """Show it in a notebook: as its picture, and as text where there are none."""
        del include, exclude
        shown = {"text/plain": repr(self)}
        # To show something is no time to complain of it: a run will.
        with suppress(Exception):
            # By its name, and not before it is wanted: it knows of runs, and nothing here does.
            shown["image/svg+xml"] = import_module("pullstream.trace").draw(self).svg
        return shown

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError(f"a blueprint is not iterated, it is run: {self._how_to_run()}")

    def _how_to_run(self) -> str:
        return f"{self!r} is a {self.kind}, and ps.run takes a pipeline, from a source to a sink"


def refuse_sharing(blueprint: Blueprint) -> None:
    """Refuse, before a run, that two modules of it take from one iterator: each would have what the other lacks."""
    shots: list[tuple[Module, OneShot[Any]]] = []

    def look(module: Module, value: object) -> None:
        if isinstance(value, Blueprint):
            for inner in value.modules:
                if inner.follows:
                    # What it was given stands with the module in front of it, too.
                    continue
                for given in (*inner.args, *(option for _, option in inner.options)):
                    look(inner, given)
        elif isinstance(value, OneShot):
            shot = cast("OneShot[Any]", value)
            for other, taken in shots:
                if taken.same(shot):
                    raise ReuseError(
                        f"{module}, composed at {module.site}, and {other}, composed at {other.site}, would take from "
                        f"the same thing, which can be read only once: give each a collection, or read it in one "
                        f"place and share that with tee() or fork()"
                    )
            shots.append((module, shot))
        elif isinstance(value, tuple) and value and isinstance(value[0], Blueprint):
            # Other sequences are what streams are made of, and may be long.
            for part in cast("tuple[object, ...]", value):
                look(module, part)

    look(blueprint.modules[0], blueprint)


@attrs.frozen(repr=False)
class Source(Blueprint, Generic[T_co]):
    """A blueprint that produces values of type `T_co`."""

    kind = "source"

    @override
    def _how_to_run(self) -> str:
        return (
            f"ps.run(ps.pipe({self!r}, ps.collect())); and a source's values are read one by one with "
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
