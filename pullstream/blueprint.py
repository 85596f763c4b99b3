"""Blueprints: immutable descriptions of streams, opened by a run (DESIGN 3.1).

A blueprint is a tuple of modules. Composing concatenates the tuples, so a blueprint can be inspected, compared,
drawn, fused and pickled, and opened any number of times. Nothing is acquired here.
"""

import inspect
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from difflib import get_close_matches
from os import PathLike
from types import BuiltinFunctionType, FrameType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NoReturn, Self, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.errors import CompositionError, ReuseError
from pullstream.frames import is_ours

if TYPE_CHECKING:
    from pullstream.checker.pipeline import Check
    from pullstream.journal.store import Journal
    from pullstream.run import Beside, Running

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
A_contra = TypeVar("A_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


@attrs.frozen
class Site:
    """The line of the user's program that composed a module; error messages name it."""

    filename: str
    line: int

    def __str__(self) -> str:
        return f"{self.filename}:{self.line}"

    @classmethod
    def here(cls) -> Self:
        """The innermost line outside the toolkit."""
        frame: FrameType = inspect.currentframe()  # type: ignore[assignment]  # CPython always has one
        while frame.f_back is not None and _passes_on(frame.f_globals.get("__name__")):
            frame = frame.f_back
        return cls(frame.f_code.co_filename, frame.f_lineno)


def _passes_on(module: object) -> bool:
    # pyspark calls what it was given, as in `df.transform(...)`.
    return is_ours(module) or (isinstance(module, str) and module.partition(".")[0] == "pyspark")


@attrs.frozen
class Module:
    """One module of a blueprint: what makes it, and with which arguments.

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
        shown = [_shown(arg) for arg in self.args]
        shown += [f"{key}={_shown(value)}" for key, value in self.options]
        text = f"{self.name}({', '.join(shown)})"
        return text if self.label is None else f"{text}.named({self.label!r})"

    def made(self) -> Any:
        """What a run works with, new for each run."""
        args = [cast("OneShot[Any]", arg).take(self) if isinstance(arg, OneShot) else arg for arg in self.args]
        return self.make(*args, **dict(self.options))


class OneShot(Generic[T]):
    """An argument that can be used once: the second open is refused by name, and so is pickling."""

    def __init__(self, value: T) -> None:
        self._value: T | None = value
        self._shown = _shown(value)

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
    """What `pipe()` composes; see `Source`, `Transformer`, `Sink` and `Pipeline`."""

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

    def __iter__(self) -> Iterator[NoReturn]:
        raise TypeError(f"a blueprint is not iterated, it is run: {self._how_to_run()}")

    def _how_to_run(self) -> str:
        return f"{self!r} is a {self.kind}, and ps.run takes a pipeline, from a source to a sink"


def refuse_sharing(blueprint: Blueprint) -> None:
    """Refuse, before a run, that two modules of it take from one iterator: each would have what the other lacks."""
    found: list[tuple[Module, OneShot[Any]]] = []

    def look(module: Module, value: object) -> None:
        if isinstance(value, Blueprint):
            for inner in value.modules:
                for given in (*inner.args, *(option for _, option in inner.options)):
                    look(inner, given)
        elif isinstance(value, OneShot):
            shot = cast("OneShot[Any]", value)
            for other, taken in found:
                if taken.same(shot):
                    raise ReuseError(
                        f"{module}, composed at {module.site}, and {other}, composed at {other.site}, would take from "
                        f"the same thing, which can be read only once: give each a collection, or read it in one "
                        f"place and share that with tee() or fork()"
                    )
            found.append((module, shot))
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


@attrs.frozen(repr=False)
class Sink(Blueprint, Generic[A_contra, R_co]):
    """A blueprint that consumes values and ends with a result."""

    kind = "sink"


@attrs.frozen(repr=False)
class Pipeline(Blueprint, Generic[R_co]):
    """A whole program, from a source to a sink, whose run gives an `R_co`."""

    kind = "pipeline"

    @override
    def _how_to_run(self) -> str:
        return f"ps.run({self!r}), and what its sink makes of the values is the result"

    def open(
        self,
        *,
        limit: int = 4096,
        release_timeout: float = 5.0,
        check: "Check" = False,
        beside: "Beside | None" = None,
        journal: "str | PathLike[str] | Journal | None" = None,
    ) -> "Running[R_co]":
        """Open the pipeline: `async with pipeline.open() as running:` starts it beside the block.

        Leaving the block waits for the end; an exception in the block aborts the stream in order. While it is open,
        Ctrl-C is raised where trio's main task waits the next time, and not before. `limit` is how many
        values a sink asks for at most at a time (1 is the specification to the letter); it asks for fewer while a
        batch takes longer than a few milliseconds. `release_timeout` is the grace, in seconds, that a module has to
        let go. With `check=True` the checker watches every edge; with `check="strict"` requesters must be polite, too
        (R9).

        `beside` is an async function of the `Running`, such as a progress display (`adapters.display`), that looks on:
        it begins with the run and is cancelled at its end; it keeps no run going and hides no stall. What it raises
        aborts the run in order, and is the run's failure.

        With `journal`, the path of a file, the run can be killed at any moment, and the next one with that journal goes
        on after the last time that all sinks had completed: sources are read again, and what is done is dropped. A sink
        may be given anew a time that it had not quite completed, so its effects replace what they were before. A run
        that has come to its end does nothing again, and gives its result again, unless the files that it read have
        changed, which is refused. Nobody looks at what sinks have done: an output file that somebody deletes is not
        written again, unless the journal goes with it. What has no times is all at one, and begins anew until all of it
        is done. One run at a time has a journal.

        It goes with one program: with its modules, all that they were given, and what its functions do and hold on to
        (their code, defaults, closures, the functions, classes and constants that they name; not where they are
        written, and not what is in global collections and objects, or imported by a function itself). Another one is
        refused, with what is different; so is what cannot be compared (a connection in a closure), and the same program
        under another minor version of Python, which compiles it otherwise. `Journal(path, version=...)` says in place
        of that comparison which program it is.

        Times, and what modules keep beyond them, are pickled, and reading pickles runs what they say: a journal is as
        trusted as the program. It is made for its owner alone (mode 0600), and is read only if it belongs to who runs,
        is no link, and nobody else may write to it; each of its records is checked before anything is taken from it.
        One that has been where others could write is to be opened only if it was written with a secret, see `Journal`.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.values("ab"), ps.collect()).open() as running:
        ...         await running.progress.completed(0)
        ...         return await running.result()
        >>> trio.run(main)
        ['a', 'b']

        Raises:
            JournalError: the journal belongs to another pipeline or to other sources, is in use, or cannot be used.
        """
        from pullstream.run import Running  # noqa: PLC0415 - a blueprint is data; only opening needs the runtime

        return Running(self, limit=limit, release_timeout=release_timeout, check=check, beside=beside, journal=journal)


_TABLES: Final = {
    ("pyspark", "DataFrame"): "spark.from_dataframe(df) makes a source of it (from adapters import spark)",
    ("pandas", "DataFrame"): "values(df.itertuples(index=False)) makes a source of its rows",
    ("polars", "DataFrame"): "values(df.iter_rows(named=True)) makes a source of its rows",
    ("pyarrow", "Table"): "values(table.to_pylist()) makes a source of its rows",
}
"""Tables by package and class, most of which can be iterated, though not by rows; and what makes a source of each."""


def table_advice(value: object) -> str:
    """What makes a source of a table's rows, if `value` is a table."""
    return _TABLES.get((type(value).__module__.partition(".")[0], type(value).__name__), "")


def advice(module: str, value: object, *, source: bool = False) -> str:
    """What whoever gave `value`, which is no module, may have meant; with `source`, where a source was wanted."""
    if isinstance(value, Blueprint):
        return ""
    if isinstance(value, (map, filter, zip)):
        name = cast("type[object]", type(value)).__name__  # pyright: ignore[reportUnknownArgumentType]
        return f"; this is Python's own {name}: the module is ps.{name}"
    if callable(value):
        return _advice_on_callable(value)
    if source and (table := table_advice(value)):
        return f"; {table}"
    if isinstance(value, (list, tuple)) and any(isinstance(part, Blueprint) for part in cast("list[object]", value)):
        return f"; give the parts one by one: {module}(*parts)"
    if source and isinstance(value, (str, PathLike)):
        return "; a file is read by read_text(path), read_csv(path) and others (from adapters import files)"
    if callable(getattr(cast("object", value), "produce", None)):
        return "; above its class belongs @ps.source, @ps.transformer or @ps.sink"
    if source and isinstance(value, AsyncIterable):
        return "; from_async_iterable(...) makes a source of it"
    if source and isinstance(value, Iterable):
        return "; values(...) makes a source of it"
    return ""


def _advice_on_callable(value: Callable[..., object]) -> str:
    name = getattr(value, "__name__", repr(value))
    module = f"a module is called, {name}()"
    plain = f"a plain function goes into map({name}), or tap({name}) if it gives nothing back"
    if is_ours(getattr(value, "__module__", "")):
        return f"; {module}"
    if inspect.isasyncgenfunction(value) or inspect.iscoroutinefunction(value):
        return f"; {_advice_on_async(value, name)}"
    return f"; {plain}" if isinstance(value, BuiltinFunctionType) or name == "<lambda>" else f"; {module}, and {plain}"


def _advice_on_async(value: Callable[..., object], name: str) -> str:
    generates = inspect.isasyncgenfunction(value)
    first = next(iter(inspect.signature(value).parameters), None)
    if first is None:
        return f"{f'from_async_iterable({name}())' if generates else f'from_awaitable({name})'} makes a source of it"
    if first == "upstream" or generates:
        which = "source" if first != "upstream" else "transformer" if generates else "sink"
        return f"@ps.{which} above it makes a module of it, which is then called, {name}()"
    return f"an async function that gives a value for each goes into map_async({name}, concurrency)"


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for whoever wrote a name that is not known: the one that was meant, as far as spelling tells."""
    found = get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}=?" if found else ""


def callable_argument(module: str, name: str, value: object) -> None:
    """Refuse, when composing, an argument that cannot be called."""
    if not callable(value):
        got = f"{value!r} ({type(value).__name__})"
        hint = (
            f": for a column, operator.attrgetter({value!r}) or, of dicts, itemgetter" if isinstance(value, str) else ""
        )
        raise CompositionError(f"{module}() at {Site.here()} needs a callable as its {name}, and got {got}{hint}")


def sync_argument(module: str, name: str, value: object, instead: str) -> None:
    """Refuse, when composing, an argument that cannot be called, or only with `await`."""
    callable_argument(module, name, value)
    if inspect.iscoroutinefunction(value):
        shown = shown_callable(value)
        raise CompositionError(f"{module}() at {Site.here()} got the async function {shown}: {instead}")


def count_argument(module: str, name: str, value: object, least: int = 0) -> None:
    """Refuse, when composing, an argument that is not a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise CompositionError(
            f"{module}() at {Site.here()} needs a whole number of at least {least} as its {name}, and got {value!r}",
        )


def seconds_argument(module: str, name: str, value: object) -> None:
    """Refuse, when composing, an argument that is not a positive number of seconds."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise CompositionError(
            f"{module}() at {Site.here()} needs a positive number of seconds as its {name}, and got {value!r}",
        )


def shown_callable(value: object) -> str:
    """The name a reader would know a callable by."""
    name = getattr(value, "__qualname__", None)
    return name.rpartition("<locals>.")[2] if isinstance(name, str) else repr(value)


def _shown(value: object) -> str:
    text = shown_callable(value) if callable(value) else repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
