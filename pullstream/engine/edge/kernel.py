"""The base class for authors' modules: what a module is given, and what it supplies."""

import inspect
from collections.abc import Coroutine, Sequence
from math import inf
from types import FunctionType
from typing import Any, Final, cast

from typing_extensions import override

from pullstream.blueprint.variables import T
from pullstream.engine.edge.behaviour import Behaviour, method_of
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.lane import Lane, dismiss_all, first_lane
from pullstream.engine.run import Run, Scope
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Traits
from pullstream.errors import CompositionError, ReuseError
from pullstream.resuming.memory import Memory

STEPS: Final = 16
"""The number of modules that a termination passes in one task."""

GIVEN: Final = {
    "upstream": "the first of its inputs",
    "inputs": "the lanes that it reads",
    "location": "its location in the sidecar, where it holds times",
    "memory": "the dict that a journal saves",
    "run": "the run that it is part of",
    "scope": "the stream that it is part of",
    "edge": "its output edge",
    "breathe": "the method that lets other tasks run",
}
"""The attributes that a module is given; their names must not be used for anything else."""


FORMER: Final = {
    "at_hand": "inherit PolledKernel, whose poll(limit) returns NOT_YET or WAIT where there is no answer",
    "answer_many": "answer(batch) gets multi-time batches, too; run_by_run(batch, function) takes them apart",
    "receive_many": "receive(batch) gets multi-time batches, too; apart(batch) gives their runs",
    "steps_now": "inherit PolledKernel: its poll(limit) finds out whether an answer has to be waited for",
    "stepwise": "inherit PolledKernel: its poll(limit) finds out whether an answer has to be waited for",
    "takes_many": "answers arrive whole; batch.runs() takes them apart",
}
"""Names that subclasses of kernels defined in earlier versions, and what to do now."""


class Given(property):
    """An attribute that a module is given, and cannot set."""

    @override
    def __set__(self, instance: Any, value: Any) -> None:
        raise CompositionError(_taken(type(instance).__name__, next(n for n in GIVEN if vars(Kernel).get(n) is self)))


class Kernel(Behaviour[T]):
    """A module at run time. A subclass defines `produce`, and `acquire` and `release` if it needs them.

    A module that answers in one step wherever its inputs do is a `PolledKernel`, with a `poll` instead of `produce`.

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

    A module is given `inputs`, the lanes that it reads, and `upstream`, the first of them; `location`, where it holds
    times (`hold` and `drop`); `memory`, which a journal saves; `run` and `scope`, the run and the stream that it is
    part of; and `edge`, its output edge. It may override the methods of `Behaviour`. Every other attribute is the
    author's own: the toolkit neither reads nor writes it. A name that would collide is refused when the class is made
    or the module is placed in its run.

    >>> try:
    ...     class Busy(ps.authoring.Kernel[int]):
    ...         memory = {}
    ... except ps.CompositionError as refused:
    ...     print(refused)
    Busy defines 'memory', which in a module is the dict that a journal saves: give it another name
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

    # ---- attributes and methods that a module is given

    @Given
    def edge(self) -> Edge[T]:
        """The module's output edge: its state, and how the module ends it by itself."""
        return self.__edge__

    @Given
    def inputs(self) -> list[Lane[object]]:
        """The lanes that the module reads."""
        return cast("list[Lane[object]]", self.__edge__.inputs)

    @Given
    def memory(self) -> Memory:
        """The module's persistent dict, saved with the run's journal; see `Memory`.

        A value changed in place, such as a deque appended to, is saved only if it is assigned again.
        """
        return self.__edge__.memory

    def breathe(self) -> Coroutine[Any, Any, bool]:
        """Let other tasks run, and deliver a pending cancellation, if it is time; for loops that may run long.

        False if the stream has ended meanwhile: upstream has been notified, and must not be asked again (R9).
        """
        return self.__edge__.breathe()

    # ---- defaults

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        edge = self.__edge__
        inputs = cast("list[Lane[object]]", edge.inputs)
        if len(inputs) == 1 and edge.height % STEPS:
            await inputs[0].terminate(reason)
        elif all(lane.over for lane in inputs):
            for lane in inputs:
                await lane.terminate(reason)
        else:
            # A new task every `STEPS` modules, even for a single input: a long row would exceed Python's recursion
            # limit.
            await dismiss_all(inputs, reason)


def install(kernel: Kernel[T], scope: Scope, location: Location, upstreams: Sequence[Kernel[Any]]) -> Edge[T]:
    """Place a module in a run: after `upstreams`, at its `location` in the sidecar. Returns its output edge.

    A branch of a fan-out has a port in the sidecar's graph, but no upstream that it could ask.

    Raises:
        CompositionError: the module uses a name that is given to it, such as `run`, for something else.
        ReuseError: the kernel has been placed before.
    """
    if hasattr(kernel, "__edge__"):
        raise ReuseError(
            f"{location}, opens a {type(kernel).__name__} that has been opened before: make a new one for each run, in "
            f"the function that opens it"
        )
    for name in ("location", "run", "scope", "upstream"):
        if hasattr(kernel, name):
            raise CompositionError(_taken(str(location), name))
    if not (kernel.__overrides__.polled or kernel.__overrides__.produces):
        raise CompositionError(
            f"{location}, has no produce(limit), so it cannot answer: define it, or inherit PolledKernel, which has a "
            f"poll(limit)"
        )
    ports = location.ports
    inputs = [first_lane(upstream.__edge__, port) for upstream, port in zip(upstreams, ports, strict=False)]
    kernel.scope, kernel.run, kernel.location = scope, scope.run, location
    if inputs:
        kernel.upstream = inputs[0]
    edge = kernel.__edge__ = Edge(kernel, scope, location, inputs)
    edge.plain = type(kernel).dismiss is vars(Kernel)["dismiss"] and edge.height % STEPS > 0
    if kernel.__overrides__.placed:
        method_of(kernel, "placed")()
    return edge


def traits_of(kernel: Kernel[Any]) -> Traits:
    """The traits of a module, set by its class or its `__init__`; those of an author's module are `completed`.

    Raises: CompositionError: `traits` is something else.
    """
    traits = kernel.traits
    if not isinstance(traits, Traits):  # pyright: ignore[reportUnnecessaryIsInstance] - authors are not all typed
        raise CompositionError(_taken(type(kernel).__name__, "traits"))
    own = kernel.__overrides__
    return own.completed(traits) if own.by_author else traits


_KINDS: Final = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR

METHODS: Final = tuple(name for name in vars(Behaviour) if not name.startswith("_") and name != "traits")
"""The methods of a module that its edge calls."""


def _check_names(cls: type[Kernel[Any]]) -> None:
    """Refuse a module class that uses one of the toolkit's names for something else."""
    for name in GIVEN:
        if _static(cls, name) is not vars(Kernel)[name]:
            raise CompositionError(_taken(cls.__name__, name))
    for name in METHODS:
        if not callable(getattr(cls, name)):
            raise CompositionError(
                f"{cls.__name__} has a {name!r} that is not a method; in a module, the toolkit calls a method of "
                f"that name: give it another name"
            )
    for name, method in vars(cls).items():
        if name in FORMER:
            raise CompositionError(f"{cls.__name__} has a {name!r}, which is no longer used: {FORMER[name]}")
        if isinstance(method, FunctionType):
            _check_method(cls, name, method)
    if cls.__polled__ and _static(cls, "produce") is not vars(Behaviour)["produce"]:
        raise CompositionError(
            f"{cls.__name__} has a 'produce', but is polled: only its poll(limit) is called, and never produce"
        )
    if not isinstance(_static(cls, "traits"), (Traits, property)):
        raise CompositionError(_taken(cls.__name__, "traits"))


def _static(cls: type[object], name: str) -> object:
    """The attribute of a class, without binding it. Quick, because every import of the toolkit waits."""
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


def _check_method(cls: type[Kernel[Any]], name: str, method: FunctionType) -> None:
    """Refuse a method that yields or is async while the toolkit's own is not, or the reverse: it would never run."""
    base = next((vars(base)[name] for base in cls.__mro__[1:] if name in vars(base)), None)
    if not (isinstance(base, FunctionType) and base.__module__.startswith("pullstream.")):
        return
    least, most = _arguments(method)
    if not (name.startswith("_") or least <= base.__code__.co_argcount <= most):
        what = f"takes {_shown(method)}, but is called with {_shown(base)}"
    elif not (base.__code__.co_flags ^ method.__code__.co_flags) & _KINDS:
        return
    elif inspect.iscoroutinefunction(base) and (
        inspect.isasyncgenfunction(method) or inspect.isgeneratorfunction(method)
    ):
        what = "yields, but must return one answer at a time: write a generator as a module of its own, without a class"
    elif (
        inspect.iscoroutinefunction(method)
        and not inspect.iscoroutinefunction(base)
        and "Awaitable" not in str(base.__annotations__.get("return"))
    ):
        what = f"is async, but is called without await: def {name}"
    else:
        return
    code = method.__code__
    raise CompositionError(f"{cls.__name__}.{name}, at {code.co_filename}:{code.co_firstlineno}, {what}")


def _arguments(method: FunctionType) -> tuple[int, float]:
    """The least and the greatest number of positional arguments, `self` included."""
    code = method.__code__
    most = inf if code.co_flags & inspect.CO_VARARGS else code.co_argcount
    return code.co_argcount - len(method.__defaults__ or ()), most


def _shown(method: FunctionType) -> str:
    code = method.__code__
    return f"({', '.join(code.co_varnames[1 : code.co_argcount])})"


def _taken(who: str, name: str) -> str:
    what = GIVEN.get(name, "a value Traits(...)")
    return f"{who} defines {name!r}, which in a module is {what}: give it another name"
