"""A running program: changes of its inputs in, changes of its outputs out, time by time."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from pullstream.authoring import Site
from pullstream.errors import CompositionError
from pullstream.incremental.collection import Collection
from pullstream.incremental.operators import Together
from pullstream.incremental.parts import Changes
from pullstream.incremental.region import Region
from pullstream.incremental.trace import Order, Time

Program = Callable[..., Any]

ONE: Final = ""
"""The name of a single output."""


class Dataflow:
    """A program with its state.

    >>> from pullstream.incremental.trace import RoundOrder
    >>> flow = Dataflow(lambda words: words.count(), RoundOrder())
    >>> flow.take("words", (), [("a", 1), ("b", 1), ("a", 1)])
    >>> flow.run(())
    [('', ('a', 2), 1), ('', ('b', 1), 1)]
    >>> flow.take("words", (), [("a", -1)])
    >>> flow.run(())
    [('', ('a', 2), -1), ('', ('a', 1), 1)]
    """

    def __init__(self, program: Program, order: Order) -> None:
        self.region = Region(order)
        self.inputs: Mapping[str, Collection[Any]] = {name: Collection[Any](self.region) for name in inputs_of(program)}
        self._out: list[tuple[str, Any, int]] = []
        made = outputs_of(self._made(program), self.region)
        self.outputs: Sequence[str] = list(made)
        for name, collection in made.items():
            collection.listen(Together(self.region, Site.here(), self._noting(name)).take)

    def _made(self, program: Program) -> Any:
        try:
            return program(**self.inputs)
        except TypeError as exc:
            if Collection.__name__ in str(exc):
                exc.add_note(
                    "a collection has no records yet when the program is called: pass functions to its verbs, such as "
                    "map(), filter(), join() and reduce()"
                )
            raise

    def _noting(self, name: str) -> Callable[[Time, Changes], None]:
        return lambda _, changes: self._out.extend((name, record, diff) for record, diff in changes)

    def take(self, name: str, time: Time, changes: Changes) -> None:
        """Change an input at a time."""
        self.inputs[name].give(time, changes)

    def run(self, time: Time) -> list[tuple[str, Any, int]]:
        """Complete a time and return all changes of the outputs at it."""
        self.region.run(time)
        for trace in self.region.traces:
            trace.compact_all()
        out, self._out = self._out, []
        return out


def inputs_of(program: Program) -> list[str]:
    """The names of a program's inputs: its parameters without a default."""
    parameters = inspect.signature(program).parameters.values()
    # A parameter with a default is not an input: `lambda edges, n=n: ...`, or `partial(program, n=3)`.
    wanted = [each for each in parameters if each.default is each.empty]
    if not wanted or any(each.kind not in _NAMED for each in wanted):
        raise CompositionError(
            f"at {Site.here()}: a program is a function with a named parameter for each input collection, but "
            f"{program!r} has ({', '.join(map(str, parameters))}). Write def program(edges, roots): ..."
        )
    return [each.name for each in wanted]


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def outputs_of(made: Any, region: Region) -> dict[str, Collection[Any]]:
    """The output collections of a program, by name."""
    named = {ONE: cast("object", made)} if isinstance(made, Collection) else made
    found = cast("dict[Any, Any]", named if isinstance(named, dict) else {})
    if not found or not all(isinstance(each, Collection) for each in found.values()):
        raise CompositionError(
            f"at {Site.here()}: a program must return a collection, or a dict of collections by name, not {made!r}"
        )
    return {name: collection.enter(region) for name, collection in found.items()}
