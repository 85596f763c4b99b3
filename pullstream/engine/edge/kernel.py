"""The class of which an author of modules writes subclasses: what a module is given, beside what it supplies."""

import inspect
from collections.abc import Coroutine, Sequence
from types import FunctionType
from typing import Any, Final, cast

from typing_extensions import TypeVar, override

from pullstream.engine.edge.behaviour import Behaviour
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane, dismiss_all, first_lane
from pullstream.engine.run import Run, Scope
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.memory import Memory
from pullstream.engine.traits import Traits
from pullstream.errors import CompositionError

T = TypeVar("T")

STEPS: Final = 16
"""The number of modules that a termination passes in one task."""

GIVEN: Final = {
    "upstream": "the first of its inputs",
    "inputs": "what it reads",
    "location": "its place in the sidecar, where it holds times",
    "memory": "what it keeps from time to time",
    "run": "the run it is part of",
    "scope": "the stream it is part of",
    "edge": "the edge below it",
    "breathe": "how it lets other tasks have a turn",
}
"""The names of things that a module is given, which are not to be given to anything else."""


class Given(property):
    """A thing that a module is given: it cannot be set."""

    @override
    def __set__(self, instance: Any, value: Any) -> None:
        raise CompositionError(_taken(type(instance).__name__, next(n for n in GIVEN if vars(Kernel).get(n) is self)))


class Kernel(Behaviour[T]):
    """A module at run time. A subclass gives `produce`, and `acquire` and `release` where it needs them.

    >>> import pullstream as ps
    >>> @ps.transformer
    ... class Pairs(ps.authoring.Kernel[tuple[int, int]]):
    ...     async def produce(self, limit):
    ...         batch = await self.upstream.ask(1)
    ...         if batch is ps.DONE:
    ...             return ps.DONE
    ...         return ps.Batch(batch.time, [(value, value) for value in batch.values])
    >>> ps.run(ps.pipe(ps.values([1, 2]), Pairs(), ps.collect()))
    [(1, 1), (2, 2)]

    A module is given `upstream`, `inputs`, `location`, `memory`, `run`, `scope` and `edge`, and may override the
    methods of `Behaviour`. Every other attribute is the author's own: nothing else of a module is read, or written, by
    the machine that runs it. What would be in its way is refused by name, when the class is made or the module gets its
    place.

    >>> try:
    ...     class Busy(ps.authoring.Kernel[int]):
    ...         memory = {}
    ... except ps.CompositionError as refused:
    ...     print(refused)
    Busy has a 'memory' of its own; in a module that is what it keeps from time to time: give it another name
    """

    __slots__ = ("__edge__", "location", "run", "scope", "upstream")

    __edge__: Edge[T]

    upstream: Lane[object]
    location: Location
    run: Run
    scope: Scope

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_names(cls)

    # ---- what it is given

    @Given
    def edge(self) -> Edge[T]:
        """The edge below the module: how it stands, and how the module ends it by itself."""
        return self.__edge__

    @Given
    def inputs(self) -> list[Lane[object]]:
        """The lanes that the module reads."""
        return cast("list[Lane[object]]", self.__edge__.inputs)

    @Given
    def memory(self) -> Memory:
        """A dict that the module keeps from time to time, saved with the run's journal; see `Memory`.

        A value that is changed in place, such as a deque that is appended to, is saved only if it is assigned again.
        """
        return self.__edge__.memory

    def breathe(self) -> Coroutine[Any, Any, bool]:
        """Let other tasks have a turn, and a cancellation strike, if it is time; for loops that may run long.

        False if the stream has ended meanwhile: upstream has been told, and nothing is asked any more (R9).
        """
        return self.__edge__.breathe()

    # ---- what it does if it says nothing else

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        edge = self.__edge__
        inputs = cast("list[Lane[object]]", edge.inputs)
        if len(inputs) == 1 and edge.height % STEPS:
            await inputs[0].terminate(reason)
        elif inputs:
            # In tasks, also where there is one, now and then: a long row would meet Python's recursion limit.
            await dismiss_all(inputs, reason)


def install(kernel: Kernel[T], scope: Scope, location: Location, upstreams: Sequence[Kernel[Any]]) -> Edge[T]:
    """Put a module into a run: above it `upstreams`, beside it its `location`, below it the edge that this gives.

    A branch of a fan-out has a port in the sidecar's graph, and no upstream that it could ask.

    Raises:
        CompositionError: it has given one of the names of what it is given here to something else.
    """
    for name in ("location", "run", "scope", "upstream"):
        if hasattr(kernel, name):
            raise CompositionError(_taken(str(location), name))
    ports = location.ports
    inputs = [first_lane(upstream.__edge__, port) for upstream, port in zip(upstreams, ports, strict=False)]
    kernel.scope, kernel.run, kernel.location = scope, scope.run, location
    if inputs:
        kernel.upstream = inputs[0]
    edge = kernel.__edge__ = Edge(kernel, scope, location, inputs)
    edge.placed()
    return edge


def traits_of(kernel: Kernel[Any]) -> Traits:
    """The traits of a module, which its class or its `__init__` has given it.

    Raises:
        CompositionError: it has something else by that name.
    """
    traits = kernel.traits
    if not isinstance(traits, Traits):  # pyright: ignore[reportUnnecessaryIsInstance] - authors are not all typed
        raise CompositionError(_taken(type(kernel).__name__, "traits"))
    return traits


_KINDS: Final = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

METHODS: Final = tuple(name for name in vars(Behaviour) if not name.startswith("_") and name != "traits")
"""The methods that the machine calls of a module."""


def _check_names(cls: type[Kernel[Any]]) -> None:
    """Refuse a class of modules that has something else by a name that is a module's own or the machine's."""
    for name in GIVEN:
        if _static(cls, name) is not vars(Kernel)[name]:
            raise CompositionError(_taken(cls.__name__, name))
    for name in METHODS:
        if not callable(getattr(cls, name)):
            raise CompositionError(
                f"{cls.__name__} has a {name!r} that is no method; in a module that is one which the toolkit calls: "
                f"give it another name"
            )
    for name, method in vars(cls).items():
        if isinstance(method, FunctionType):
            _check_method(cls, name, method)
    if not isinstance(_static(cls, "traits"), (Traits, property)):
        raise CompositionError(_taken(cls.__name__, "traits"))


def _static(cls: type[object], name: str) -> object:
    """The attribute of a class as it stands there. Every import of the toolkit waits for this."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _check_method(cls: type[Kernel[Any]], name: str, method: FunctionType) -> None:
    """Refuse a method that yields, or is async, where that of the toolkit's own class is not: nobody would run it."""
    base = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
    if not (isinstance(base, FunctionType) and base.__module__.startswith("pullstream.")):
        return
    if not (base.__code__.co_flags ^ method.__code__.co_flags) & _KINDS:
        return
    if inspect.iscoroutinefunction(base) and (
        inspect.isasyncgenfunction(method) or inspect.isgeneratorfunction(method)
    ):
        what = "yields, and is to return one answer at a time: a generator is a module by itself, without a class"
    elif inspect.iscoroutinefunction(method) and not inspect.iscoroutinefunction(base):
        what = f"is async, and is called without await: def {name}"
    else:
        return
    code = method.__code__
    raise CompositionError(f"{cls.__name__}.{name}, at {code.co_filename}:{code.co_firstlineno}, {what}")


def _taken(who: str, name: str) -> str:
    what = GIVEN.get(name, "a value Traits(...)")
    return f"{who} has a {name!r} of its own; in a module that is {what}: give it another name"
