"""Dataflows within dataflows: one level of operators, and a subgraph that is itself an operator (003, 004).

Node 0 of a subgraph's graph is the outside world: its outputs are the subgraph's inputs, and its inputs are the
subgraph's outputs. A subgraph reports only progress that follows from its *inside*. Reporting the outside's own
capabilities back would be correct, but would stall every loop through the subgraph (003). Therefore a second tracker,
without the outside's counts, computes the reports.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ..antichain import Antichain
from ..counting import differences
from ..graph import GraphBuilder
from ..location import Source, Target
from ..mutable import MutableAntichain
from ..order import minimal
from ..summary import IDENTITY, Summary
from ..tracker import Tracker
from .invariants import CheckedTracker
from .operate import ChangeBatch, Connectivity, Leaf, Operate, Progress, check_contract
from .paths import summaries_between


class Operators:
    """One level of a nested dataflow: operators, the edges between them, and a tracker of their reports.

    `step` passes progress once through all operators and returns whether anything happened. Call it until it returns
    False.

    Raises:
        GraphError, CycleError: as in `GraphBuilder.build`.
    """

    def __init__(
        self,
        operators: Sequence[Operate],
        edges: Iterable[tuple[Source, Target]],
        *,
        outside: bool = False,
        monotone: bool = True,
        debug: bool = False,
    ) -> None:
        self.operators = tuple(operators)
        builder = GraphBuilder()
        initial: list[Sequence[ChangeBatch[Any]]] = []
        self._connectivity: list[Connectivity] = []
        for operator in self.operators:
            connectivity, capabilities = operator.internal_summary()
            builder.add_node(operator.name, operator.inputs, operator.outputs, connectivity)
            self._connectivity.append(connectivity)
            initial.append(capabilities)
        self._targets: dict[Source, list[Target]] = {}
        for source, target in edges:
            builder.add_edge(source, target)
            self._targets.setdefault(source, []).append(target)
        self.graph = builder.build()
        make = CheckedTracker if debug else Tracker
        self.tracker = make(self.graph, monotone=monotone)
        # If operator 0 is the outside: a tracker of what the inside alone may still lead to.
        self.inside = make(self.graph, monotone=False) if outside else None
        self.left = [ChangeBatch[Any]() for _ in range(self.operators[0].inputs)] if outside else []
        self._seen: dict[int, Antichain[Any]] = {}
        self._held: dict[Source, MutableAntichain[Any]] = {}
        for index, operator in enumerate(self.operators):
            for i in range(operator.inputs):
                self.tracker.observe(self.graph.place(Target(index, i)))
            for o in range(operator.outputs):
                self._held[Source(index, o)] = MutableAntichain()
                for time, count in initial[index][o]:
                    self._held[Source(index, o)].update(time, count)
                    self.update(Source(index, o), time, count)

    def update(self, location: Source | Target, time: Any, delta: int) -> None:
        """Change a count at this level."""
        place = self.graph.place(location)
        self.tracker.update(place, time, delta)
        if self.inside is not None and location.node:
            self.inside.update(place, time, delta)

    def step(self) -> bool:
        """Collect the progress of every operator, then notify every operator of frontier changes at its inputs."""
        active = False
        for index, operator in enumerate(self.operators):
            progress = operator.pull_internal_progress()
            if progress:
                active = True
                self._accept(index, progress)
        self.tracker.propagate()
        for index, operator in enumerate(self.operators):
            changes = [self._news(self.graph.place(Target(index, i))) for i in range(operator.inputs)]
            if any(map(len, changes)):
                active = True
                operator.push_external_progress(changes)
        return active

    def frontier(self, location: Source | Target) -> Antichain[Any]:
        """The times still possible at a port of this level."""
        return self.tracker.frontier(self.graph.place(location))

    def _news(self, place: int) -> ChangeBatch[Any]:
        now = self.tracker.frontier(place)
        before = self._seen.get(place, Antichain[Any]())
        self._seen[place] = now
        return ChangeBatch(differences(before.elements, now.elements))

    def _accept(self, index: int, progress: Progress) -> None:
        """Check a batch as a whole, then count it."""
        operator = self.operators[index]
        held = [self._held[Source(index, o)] for o in range(operator.outputs)]
        check_contract(operator.name, self._connectivity[index], held, progress)
        for i, consumed in enumerate(progress.consumed):
            for time, count in consumed:
                self.update(Target(index, i), time, -count)
        for o in range(operator.outputs):
            changes = sorted(progress.internal[o], key=lambda change: -change[1])  # gains first: never below zero
            for time, delta in changes:
                held[o].update(time, delta)
                self.update(Source(index, o), time, delta)
            for time, count in progress.produced[o]:
                self.send(Source(index, o), time, count)

    def send(self, source: Source, time: Any, count: int) -> None:
        """Deliver messages from an output to every input connected to it."""
        for target in self._targets.get(source, ()):
            self.deliver(target, time, count)

    def deliver(self, target: Target, time: Any, count: int) -> None:
        """Count messages that arrive at an input. At an input of the outside they have left the subgraph."""
        if self.inside is not None and target.node == 0:
            self.left[target.port].update(time, count)
        else:
            self.update(target, time, count)


class Subgraph:
    """A graph of operators that is itself an operator.

    Args:
        name: the name used in messages.
        inputs: the number of inputs.
        outputs: the number of outputs.
        operators: the inner operators: nodes 1, 2, ... of the inner graph. The outside is node 0.
        edges: inner edges; `Source(0, i)` is input i of the subgraph, `Target(0, j)` its output j.
        enter: how times change on the way in (a loop's `ENTER`; the identity makes a region).
        leave: how times change on the way out.
        monotone: whether frontiers that move backwards are an error, as in `Tracker`.
        debug: whether to check every invariant at every step (`CheckedTracker`).
    """

    def __init__(
        self,
        name: str,
        inputs: int,
        outputs: int,
        operators: Sequence[Operate],
        edges: Iterable[tuple[Source, Target]],
        *,
        enter: Summary = IDENTITY,
        leave: Summary = IDENTITY,
        monotone: bool = True,
        debug: bool = False,
    ) -> None:
        self.name, self.inputs, self.outputs = name, inputs, outputs
        self.enter, self.leave = enter, leave
        outside = Leaf(f"outside of {name}", outputs, inputs, {})
        self.inner = Operators([outside, *operators], edges, outside=True, monotone=monotone, debug=debug)
        self._inside = self.inner.inside or self.inner.tracker
        self._outs = [self.inner.graph.place(Target(0, j)) for j in range(outputs)]
        for place in self._outs:
            self._inside.observe(place)
        self._reported: list[tuple[Any, ...]] = [()] * outputs
        self._initial = [tuple(batch) for batch in self._leaving()]
        self._consumed = [ChangeBatch[Any]() for _ in range(inputs)]

    def internal_summary(self) -> tuple[Connectivity, Sequence[ChangeBatch[Any]]]:
        """The inner paths from each input to each output, and the inside's initial capabilities, seen at the outputs.

        Repeated calls give the same capabilities: those held when the subgraph was made. Later changes are reported as
        progress.
        """
        starts = [self.inner.graph.place(Source(0, i)) for i in range(self.inputs)]
        inputs = {place: i for i, place in enumerate(starts)}
        outputs = {place: j for j, place in enumerate(self._outs)}
        connectivity = {
            (inputs[start], outputs[end]): tuple(
                minimal(self.enter.followed_by(path).followed_by(self.leave) for path in paths)
            )
            for (start, end), paths in summaries_between(self.inner.graph, starts, self._outs).items()
        }
        return connectivity, [ChangeBatch(initial) for initial in self._initial]

    def take(self, port: int, time: Any, count: int = 1) -> None:
        """Take messages that wait at an input. They are then inside, waiting for the inner operators."""
        self._consumed[port].update(time, count)
        within = self.enter.results_in(time)
        if within is not None:
            self.inner.send(Source(0, port), within, count)

    def push_external_progress(self, changes: Sequence[ChangeBatch[Any]]) -> None:
        """Count the times that the outside may still send as capabilities of node 0."""
        for i, batch in enumerate(changes):
            for time, delta in batch:
                within = self.enter.results_in(time)
                if within is not None:
                    self.inner.update(Source(0, i), within, delta)

    def pull_internal_progress(self) -> Progress:
        """Pass progress once through the inside; report messages taken, messages sent, and times still possible."""
        busy = self.inner.step()
        consumed = tuple(ChangeBatch[Any](batch.drain()) for batch in self._consumed)
        produced = tuple(
            ChangeBatch[Any](
                (outward, count)
                for time, count in batch.drain()
                if (outward := self.leave.results_in(time)) is not None
            )
            for batch in self.inner.left
        )
        return Progress(tuple(self._leaving()), consumed, produced, busy)

    def _leaving(self) -> list[ChangeBatch[Any]]:
        """The changes, since the last report, of the times that the inside may still send out."""
        batches: list[ChangeBatch[Any]] = []
        for j, place in enumerate(self._outs):
            outward = [self.leave.results_in(time) for time in self._inside.frontier(place)]
            now = tuple(minimal(time for time in outward if time is not None))
            batches.append(ChangeBatch(differences(self._reported[j], now)))
            self._reported[j] = now
        return batches
