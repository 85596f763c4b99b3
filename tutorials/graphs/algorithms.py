"""Four algorithms, each a step of a loop.

None of them has code for its end: a loop is complete when nothing goes round any more, and modules downstream are
notified as of any other completion. Each algorithm only decides which values go round again: `pagerank` by the change
of the ranks, `core_numbers` by whether nodes are left. Inputs at several times are separate questions, each answered at
its own time.
"""

from collections.abc import AsyncIterator, Hashable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

import pullstream as ps
from pullstream import timely
from tutorials.graphs.rounds import Step, by_round

N = TypeVar("N", bound=Hashable)


def distances(graph: Mapping[N, Iterable[N]]) -> ps.Transformer[N, tuple[N, int]]:
    """Search breadth-first: for start nodes, emit (node, steps) for every node that can be reached."""

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
    """Return no label yet."""


def _label(_: object, pair: tuple[N, N]) -> N:
    return pair[1]


def components(neighbours: Mapping[N, Iterable[N]]) -> ps.Transformer[N, tuple[N, N]]:
    """Find connected components: emit (node, least node of its component) for nodes that can be ordered.

    Labels spread along the edges, and a smaller label replaces a larger one. Only completion shows which one is final.
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

    # Labels only become smaller, so the last one of a node is its least.
    last: ps.Fold[tuple[N, N], N] = ps.Fold(_nothing, _label)
    return ps.pipe(ps.loop(by_round(make)), ps.reduce_by_key(last, key=lambda pair: pair[0]))


def pagerank(
    graph: Mapping[N, list[N]], *, damping: float = 0.85, tolerance: float = 1e-6
) -> ps.Transformer[N, tuple[N, float]]:
    """Compute PageRank: for all nodes as input, emit (node, rank). Ranks go round until they hardly change.

    The loop ends when the sum of all changes is less than `tolerance` times the number of nodes.
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
    """Compute core numbers with a loop in a loop: for an input of 0, emit (node, k).

    k is the largest number for which the node is part of the k-core. Round k of the outer loop removes nodes with at
    most k neighbours, then those that have at most k left, until nothing changes: these are the rounds of the inner
    loop. When they are complete, round k + 1 begins.
    """

    def make() -> Step[Any, Any]:
        left = {node: len(around) for node, around in neighbours.items()}
        level = 0

        def step(number: int, values: list[Any]) -> Iterator[Any]:
            nonlocal level
            if number == 0:
                (level,) = values
                # Emit the level even if it removes no node.
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
    """Pass (node, level) on. When a level is complete and nodes are left, begin the next."""
    left: dict[Any, int] = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                taken: list[Any] = [value for value in values if isinstance(value, tuple)]
                outer = cast("timely.LoopTime", time).outer
                left[outer] = left.get(outer, nodes) - len(taken)
                if taken:
                    yield ps.Batch(time, taken)
            case ps.Completed(time):
                at = cast("timely.LoopTime", time)
                if left[at.outer]:
                    yield ps.Batch(time, [ps.Again(at.counters[-1] + 1)])
                else:
                    del left[at.outer]
