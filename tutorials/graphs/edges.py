"""Graphs for the algorithms: the flights from New York, and random graphs of any size."""

import csv
import random
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from tutorials.flights.data import installed

N = TypeVar("N", bound=Hashable)


def airports() -> dict[str, list[str]]:
    """Return every airport of the year's flights, with its destinations."""
    with Path(installed().flights).open(encoding="utf-8", newline="") as table:
        return adjacency((flight["origin"], flight["dest"]) for flight in csv.DictReader(table))


def random_edges(nodes: int, edges: int, seed: int) -> list[tuple[int, int]]:
    """Return distinct edges between different nodes, the same for each seed; low numbers have many of them."""
    chance = random.Random(seed)  # noqa: S311 - no secret, and meant to be repeatable
    found: dict[tuple[int, int], None] = {}
    while len(found) < edges:
        a, b = int(nodes * chance.random() ** 2), chance.randrange(nodes)
        if a != b:
            found[a, b] = None
    return list(found)


def adjacency(edges: Iterable[tuple[N, N]]) -> dict[N, list[N]]:
    """Return every node with its successors, each once, including nodes without any."""
    graph: dict[N, list[N]] = {}
    for a, b in dict.fromkeys(edges):
        graph.setdefault(a, []).append(b)
        graph.setdefault(b, [])
    return graph


def both_ways(graph: Mapping[N, Iterable[N]]) -> dict[N, set[N]]:
    """Return the graph without directions: every node with its neighbours."""
    neighbours: dict[N, set[N]] = {node: set() for node in graph}
    for a, successors in graph.items():
        for b in successors:
            neighbours[a].add(b)
            neighbours[b].add(a)
    return neighbours
