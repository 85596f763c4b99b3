"""Four algorithms, each a step of a loop.

None of them says that it is done: a loop that nothing goes round any more is complete, and what is behind it learns of
that as of any other completion. What each decides is whether a value goes round again: `pagerank` by how much the ranks
have changed, `core_numbers` by whether nodes are left. Inputs at several times are several questions, each answered at
its own time.
"""

from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

import pullstream as ps
from tutorials.graphs.rounds import Step, by_round

N = TypeVar("N", bound=Hashable)


def distances(graph: Mapping[N, Iterable[N]]) -> ps.Transformer[N, tuple[N, int]]:
    """Breadth-first search: from the nodes that come in, (node, steps) of every node that can be reached."""

    def make() -> Step[N, tuple[N, int]]:
        seen: set[N] = set()

        def step(number: int, nodes: list[N]) -> Iterator[tuple[N, int] | ps.Again[N]]:
            found = dict.fromkeys(nodes).keys() - seen
            seen.update(found)
            for node in found:
                yield node, number
            for neighbour in {neighbour for node in found for neighbour in graph[node]} - seen:
                yield ps.Again(neighbour)

        return step

    return ps.loop(by_round(make))


def _nothing() -> Any:
    """No label yet."""


def _label(_: object, pair: tuple[N, N]) -> N:
    return pair[1]


def components(neighbours: Mapping[N, Iterable[N]]) -> ps.Transformer[N, tuple[N, N]]:
    """Connected components: (node, least node of its component), once it is final, for nodes that can be ordered.

    Labels spread along the edges, and a smaller one replaces a larger; which is the last only completion can tell.
    """

    def make() -> Step[Any, tuple[N, N]]:
        label: dict[Any, Any] = {}

        def step(number: int, values: list[Any]) -> Iterator[tuple[N, N] | ps.Again[Any]]:
            offers = ((node, node) for node in values) if number == 0 else values
            changed: dict[Any, Any] = {}
            for node, offered in offers:
                if node not in label or offered < label[node]:
                    label[node] = changed[node] = offered
            best: dict[Any, Any] = {}
            for node, offered in changed.items():
                yield node, offered
                for neighbour in neighbours[node]:
                    known = best.get(neighbour, label.get(neighbour, neighbour))
                    if offered < known:
                        best[neighbour] = offered
            for offer in best.items():
                yield ps.Again(offer)

        return step

    # Labels only ever become smaller: the last one of a node is its least.
    last: ps.Fold[tuple[N, N], N] = ps.Fold(_nothing, _label)
    return ps.pipe(ps.loop(by_round(make)), ps.reduce_by_key(last, key=lambda pair: pair[0]))


def pagerank(
    graph: Mapping[N, list[N]], *, damping: float = 0.85, tolerance: float = 1e-6
) -> ps.Transformer[N, tuple[N, float]]:
    """PageRank: for all nodes, coming in, (node, rank). Ranks go round until they change by less than `tolerance`.

    The change is summed over all nodes, and compared with `tolerance` for each of them.
    """
    number_of_nodes = len(graph)

    def step(number: int, values: list[Any]) -> Iterator[tuple[N, float] | ps.Again[Any]]:
        ranks: dict[N, float] = dict.fromkeys(values, 1 / number_of_nodes) if number == 0 else dict(values)
        lost = sum(rank for node, rank in ranks.items() if not graph[node])
        spread = (1 - damping + damping * lost) / number_of_nodes
        following = dict.fromkeys(ranks, spread)
        for node, rank in ranks.items():
            successors = graph[node]
            if successors:
                share = damping * rank / len(successors)
                for successor in successors:
                    following[successor] += share
        change = sum(abs(following[node] - rank) for node, rank in ranks.items())
        if change < number_of_nodes * tolerance:
            yield from following.items()
        else:
            for pair in following.items():
                yield ps.Again(pair)

    return ps.loop(by_round(lambda: step))


def core_numbers(neighbours: Mapping[N, set[N]]) -> ps.Transformer[int, tuple[N, int]]:
    """Core numbers, by a loop in a loop: in come 0, out (node, k), the largest k of whose core the node is a part.

    In round k of the outer loop nodes with at most k neighbours are taken away, and then those that have no more than k
    left by that, until nothing changes: the rounds of the inner loop. When those are complete, k + 1 begins.
    """

    def make() -> Step[Any, Any]:
        left = {node: len(around) for node, around in neighbours.items()}
        level = 0

        def step(number: int, values: list[Any]) -> Iterator[Any]:
            nonlocal level
            if number == 0:
                (level,) = values
                # A level may take nobody away, and still has to be heard of.
                yield level
                values = [node for node, degree in left.items() if degree <= level]
            nodes = [node for node in dict.fromkeys(values) if node in left]
            for node in nodes:
                del left[node]
                yield node, level
            weakened: dict[N, None] = {}
            for node in nodes:
                for other in neighbours[node] & left.keys():
                    left[other] -= 1
                    weakened[other] = None
            for node in weakened:
                if left[node] <= level:
                    yield ps.Again(node)

        return step

    return ps.loop(ps.pipe(ps.loop(by_round(make)), next_level(len(neighbours))))


@ps.transformer
async def next_level(upstream: ps.Reader[Any], ctx: ps.Context, nodes: int) -> AsyncIterator[ps.Batch[Any]]:
    """Pass (node, level) on; when a level is complete, and nodes are left, begin with the next."""
    left: dict[Any, int] = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                taken: list[Any] = [value for value in values if isinstance(value, tuple)]
                outer = cast("ps.LoopTime", time).outer
                left[outer] = left.get(outer, nodes) - len(taken)
                if taken:
                    yield ps.Batch(time, taken)
            case ps.Completed(time):
                at = cast("ps.LoopTime", time)
                if left[at.outer]:
                    yield ps.Batch(time, [ps.Again(at.counters[-1] + 1)])
                else:
                    del left[at.outer]
