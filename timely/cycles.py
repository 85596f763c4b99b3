"""Sound cycles: each must strictly advance time in the outermost loop context it visits.

This is the loop condition of 002, for any summaries. A cycle that stays inside one context must contain a strict step.
A cycle that rises to an outer context and comes back must contain a strict step *there*, whatever it does further in.
A step that differs from the identity is not enough: `max(t, 7)` differs, and still returns 8 for 8.

The check peels the graph from the outside in. Within each strongly connected component it looks at the steps that rise
highest. If none of them is strict, some cycle through them does not advance. Otherwise it removes the strict steps
(every cycle through them is sound) and examines the remaining pieces in the same way. The order in which the pieces
come out is also the order in which the tracker works (`order_of_work`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from .errors import CycleError, GraphError
from .loops import split_time
from .summary import Summary

Step = tuple[int, Summary]


def depths(successors: Sequence[Sequence[Step]], name: Sequence[str]) -> list[int]:
    """The number of loop contexts around each place, relative to the outermost place it is connected to.

    Raises:
        GraphError: two paths between the same places enter and leave different numbers of loops.
    """
    undirected: list[list[tuple[int, int]]] = [[] for _ in successors]
    for start, steps in enumerate(successors):
        for end, summary in steps:
            change = summary.down - summary.up
            undirected[start].append((end, change))
            undirected[end].append((start, -change))
    # Walking steps in both directions gives every place its depth from its root; all paths to it must agree.
    depth: list[int | None] = [None] * len(successors)
    for root in range(len(successors)):
        if depth[root] is not None:
            continue
        depth[root] = 0
        row = [root]
        for place in row:
            here = depth[place] or 0
            for other, change in undirected[place]:
                if depth[other] is None:
                    depth[other] = here + change
                    row.append(other)
                elif depth[other] != here + change:
                    raise GraphError(
                        f"loop contexts do not nest: {name[other]} is reached inside {depth[other]} and inside "
                        f"{here + change} loops (counted from {name[root]}); enter and leave must come in pairs",
                    )
        # The root may itself be deep inside: shift, so that the component's outermost place has depth 0.
        outermost = min(depth[place] or 0 for place in row)
        for place in row:
            depth[place] = (depth[place] or 0) - outermost
    return [level or 0 for level in depth]


def components(nodes: Sequence[int], successors: Mapping[int, Sequence[int]]) -> list[list[int]]:
    """The strongly connected components of the graph on `nodes`, upstream first (Tarjan, without recursion).

    >>> components([0, 1, 2], {0: [1], 1: [0, 2], 2: []})
    [[0, 1], [2]]
    """
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    done: set[int] = set()
    groups: list[list[int]] = []
    for root in nodes:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(successors[root]))]
        while work:
            node, remaining = work[-1]
            for other in remaining:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    work.append((other, iter(successors[other])))
                    break
                if other not in done:
                    # It is on the stack, so it and this place lead to each other.
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[node])
                if low[node] == index[node]:
                    component: list[int] = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                    done.update(component)
                    groups.append(sorted(component))
    groups.reverse()
    return groups


@attrs.frozen
class Order:
    """The order in which to visit places: the ranks of each, outermost first, and the loop depths between them."""

    ranks: tuple[tuple[int, ...], ...]
    cuts: tuple[tuple[int, ...], ...]
    depth: tuple[int, ...]

    def key(self, place: int, time: Any) -> tuple[Any, ...]:
        """The sort key of a visit of `place` for `time`: ranks and time coordinates alternate, from the outside in."""
        ranks, depth = self.ranks[place], self.depth[place]
        outer, counters = split_time(time, depth)
        coordinates = (outer, *counters)
        key: list[Any] = [ranks[0]]
        done = 0
        for cut, rank in zip(self.cuts[place], ranks[1:], strict=False):
            key += coordinates[done : cut + 1]
            key.append(rank)
            done = cut + 1
        key += coordinates[done:]
        return tuple(key)


def order_of_work(successors: Sequence[Sequence[Step]], name: Sequence[str]) -> Order:
    """The order of work of a graph. It exists exactly when every cycle advances.

    Along every step, either the rank within the same contexts grows or time strictly advances. Working in this order
    therefore visits every place once for each time.

    Raises:
        GraphError: loop contexts do not nest.
        CycleError: some cycle does not strictly advance time; its places are named.
    """
    depth = depths(successors, name)
    ranks: list[tuple[int, ...]] = [()] * len(successors)
    cuts: list[tuple[int, ...]] = [()] * len(successors)
    # Each round removes from every component the strict steps at the depth where its cycles are outermost, and puts the
    # rest back on the agenda. This ends: a component without such a step has a cycle that does not advance (an error).
    agenda: list[dict[int, list[Step]]] = [{place: list(steps) for place, steps in enumerate(successors)}]
    while agenda:
        steps = agenda.pop()
        for rank, component in enumerate(components(list(steps), {p: [q for q, _ in out] for p, out in steps.items()})):
            if len(component) == 1 and all(end != component[0] for end, _ in steps[component[0]]):
                ranks[component[0]] = (*ranks[component[0]], rank)
                continue
            # A step rises to its starting depth minus the loops it leaves. The least of these depths is where the
            # cycles of this component are outermost, and where each of them must advance.
            inside = set(component)
            inner = {place: [step for step in steps[place] if step[0] in inside] for place in component}
            for place in component:
                ranks[place] = (*ranks[place], rank)
            apexes = [depth[place] - summary.up for place, out in inner.items() for _, summary in out]
            apex = min(apexes)
            for place in component:
                cuts[place] = (*cuts[place], apex)
            kept = {p: [s for s in out if depth[p] - s[1].up > apex or not s[1].strict] for p, out in inner.items()}
            if sum(map(len, kept.values())) == len(apexes):
                # No step is strict there, and a strongly connected component has a cycle through each of its steps.
                start = next((p, s[0]) for p, out in kept.items() for s in out if depth[p] - s[1].up == apex)
                raise _unsound(start, kept, name)
            agenda.append(kept)
    return Order(tuple(ranks), tuple(cuts), tuple(depth))


def _unsound(start: tuple[int, int], steps: Mapping[int, Sequence[Step]], name: Sequence[str]) -> CycleError:
    """The error for a component without a strict step where it rises highest; it names one such cycle."""
    came_from: dict[int, int] = {start[1]: start[0]}
    agenda = [start[1]]
    for place in agenda:
        for following, _ in steps[place]:
            if following not in came_from:
                came_from[following] = place
                agenda.append(following)
    cycle = [start[0]]
    while cycle[-1] != start[1]:
        cycle.append(came_from[cycle[-1]])
    names = tuple(name[place] for place in reversed(cycle))
    return CycleError(
        f"this cycle does not strictly advance time: {' -> '.join((*names, names[0]))}; "
        f"within its strongly connected component ({', '.join(sorted(name[p] for p in steps))}) no step of the "
        "outermost loop context is strict: add a feedback or a delay there",
        names,
    )
