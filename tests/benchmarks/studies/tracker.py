"""What the tracker costs, with growth curves. Run: `python -m tests.benchmarks --only tracker`.

Every figure is the median of interleaved repeats, in microseconds; the ratio to the first column shows how it grows.
Machines differ and are shared: read the ratios.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable

from timely import FEEDBACK, Graph, GraphBuilder, Product, Source, Target, Tracker

REPEATS = 7


def measure(cases: dict[object, Callable[[], float]]) -> dict[object, float]:
    """The median of each case's figure, the repeats of all cases interleaved."""
    seen: dict[object, list[float]] = {case: [] for case in cases}
    for _ in range(REPEATS):
        for case, run in cases.items():
            gc.collect()
            seen[case].append(run())
    return {case: statistics.median(figures) for case, figures in seen.items()}


def show(title: str, figures: dict[object, float], unit: str = "us") -> None:
    """Print one growth curve."""
    first = next(iter(figures.values()))
    print(f"\n{title}")
    for case, figure in figures.items():
        print(f"  {case!s:>12}  {figure:10.2f} {unit}   x{figure / first:.2f}")


def per_call(run: Callable[[int], object], times: int) -> float:
    """Microseconds per call of `run(i)`."""
    start = time.perf_counter()
    for i in range(times):
        run(i)
    return (time.perf_counter() - start) / times * 1e6


def chain(length: int) -> tuple[Graph, int, list[int]]:
    """A line of nodes: the graph, the place of the first output, the places of all inputs."""
    builder = GraphBuilder()
    builder.add_node("start", 0, 1)
    for i in range(length):
        builder.add_edge(Source(i), Target(builder.add_node(f"n{i}", 1, 1)))
    graph = builder.build()
    return graph, graph.place(Source(0)), [graph.place(Target(i + 1)) for i in range(length)]


def advancing(tracker: Tracker, place: int, make: Callable[[int], object], times: int) -> float:
    """Microseconds per advance of the only time at `place`, propagated each time."""
    tracker.update(place, make(0), 1)
    tracker.propagate()

    def step(i: int) -> None:
        tracker.update(place, make(i + 1), 1)
        tracker.update(place, make(i), -1)
        tracker.propagate()

    figure = per_call(step, times)
    tracker.update(place, make(times), -1)
    return figure


def chain_all_observed(length: int, make: Callable[[int], object]) -> Callable[[], float]:
    graph, start, inputs = chain(length)

    def run() -> float:
        tracker = Tracker(graph)
        for place in inputs:
            tracker.observe(place)
        return advancing(tracker, start, make, 20_000 // length)

    return run


def chain_five_observers(length: int) -> Callable[[], float]:
    graph, start, inputs = chain(length)

    def run() -> float:
        tracker = Tracker(graph)
        for i in range(5):
            tracker.observe(inputs[(i + 1) * length // 5 - 1])
        return advancing(tracker, start, int, 2_000)

    return run


def loop(length: int) -> tuple[Graph, list[int]]:
    """A loop of `length` nodes and a feedback; its places in order."""
    builder = GraphBuilder()
    start = builder.add_node("start", 0, 1)
    nodes = [builder.add_node(f"n{i}", 1, 1) for i in range(length)]
    back = builder.add_node("feedback", 1, 1, {(0, 0): FEEDBACK})
    builder.add_edge(Source(start), Target(nodes[0]))
    for a, b in zip([*nodes, back], [*nodes[1:], back, nodes[0]], strict=True):
        builder.add_edge(Source(a), Target(b))
    graph = builder.build()
    return graph, [graph.place(end(node)) for node in [*nodes, back] for end in (Target, Source)]


def hopping(length: int, observe_all: bool) -> Callable[[], float]:
    graph, ring = loop(length)

    def run() -> float:
        tracker = Tracker(graph)
        for place in ring if observe_all else ring[:1]:
            tracker.observe(place)
        now, at = 0, 0
        tracker.update(ring[0], 0, 1)
        tracker.propagate()

        def hop(_: int) -> None:
            nonlocal now, at
            tracker.update(ring[at], now, -1)
            at = (at + 1) % len(ring)
            now += at == len(ring) - 1
            tracker.update(ring[at], now, 1)
            tracker.propagate()

        return per_call(hop, 4_000)

    return run


def outstanding(number: int) -> Callable[[], float]:
    graph, start, inputs = chain(1)

    def run() -> float:
        tracker = Tracker(graph)
        tracker.observe(inputs[-1])
        for i in range(number):
            tracker.update(start, i, 1)
        tracker.propagate()

        def step(i: int) -> None:
            tracker.update(start, i + number, 1)
            tracker.update(start, i, -1)
            tracker.propagate()

        return per_call(step, 4_000)

    return run


def wide(width: int) -> Callable[[], float]:
    graph, start, inputs = chain(10)

    def run() -> float:
        tracker = Tracker(graph)
        for place in inputs:
            tracker.observe(place)
        # Far enough apart that an element may advance seven times and stay incomparable with its neighbours.
        for i in range(width):
            tracker.update(start, Product(8 * i, 8 * (width - i)), 1)
        tracker.propagate()

        def step(i: int) -> None:
            at, turn = i % width, i // width
            tracker.update(start, Product(8 * at + turn + 1, 8 * (width - at)), 1)
            tracker.update(start, Product(8 * at + turn, 8 * (width - at)), -1)
            tracker.propagate()

        return per_call(step, min(7 * width, 100))

    return run


def dominated(batch: int) -> Callable[[], float]:
    graph, start, inputs = chain(10)

    def run() -> float:
        tracker = Tracker(graph)
        tracker.observe(inputs[-1])
        tracker.update(start, 0, 1)
        tracker.propagate()

        def step(i: int) -> None:
            tracker.update(inputs[3], 5, 1)
            tracker.update(inputs[3], 5, -1)
            if i % batch == 0:
                tracker.propagate()

        return per_call(step, 20_000)

    return run


def build_cost(ports: int, *, collecting: bool) -> Callable[[], float]:
    """Building, planning and the first propagation of a chain, with the garbage collector on or off."""

    def run() -> float:
        if not collecting:
            gc.disable()
        start = time.perf_counter()
        graph, _, inputs = chain(ports // 2)
        tracker = Tracker(graph)
        tracker.observe(inputs[-1])
        tracker.propagate()
        figure = (time.perf_counter() - start) / ports * 1e6
        gc.enable()
        return figure

    return run


def memory(length: int, observed: bool) -> float:
    """Bytes per node of a chain's graph and tracker."""
    gc.collect()
    tracemalloc.start()
    graph, start, inputs = chain(length)
    tracker = Tracker(graph)
    for place in inputs if observed else inputs[-1:]:
        tracker.observe(place)
    tracker.update(start, 0, 1)
    tracker.propagate()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used / length


def main() -> None:
    """Measure and print everything."""
    lengths = (10, 100, 1000)
    for title, make in (("int", int), ("Product", lambda i: Product(i, 0))):
        found = measure({n: chain_all_observed(n, make) for n in lengths})
        show(
            f"chain of n nodes, every input observed, {title}: one advance, per node",
            {n: found[n] / n for n in lengths},
        )
    show("chain of n nodes, 5 observers: one advance", measure({n: chain_five_observers(n) for n in lengths}))
    loops = (1, 10, 100, 1000)
    show(
        "message hopping round a loop of n nodes, all places observed: per hop",
        measure({n: hopping(n, True) for n in loops}),
    )
    show("the same, one place observed: per hop", measure({n: hopping(n, False) for n in loops}))
    numbers = (10, 100, 1000, 10_000)
    show(
        "n outstanding times, drop the least and add a greater: one advance",
        measure({n: outstanding(n) for n in numbers}),
    )
    widths = (1, 4, 16, 64, 256)
    show("antichain of n incomparable times, chain of 10 observed: advance one", measure({n: wide(n) for n in widths}))
    show("+1/-1 at a dominated time, propagated every n: per pair", measure({n: dominated(n) for n in (1, 10, 100)}))
    ports = (1000, 10_000, 100_000)
    for collecting in (True, False):
        found = measure({n: build_cost(n, collecting=collecting) for n in ports})
        switch = "on" if collecting else "off"
        show(f"build, plan and first propagation, n ports, garbage collector {switch}: per port", found)
    show(
        "memory per node, chain of 1,000",
        {k: memory(1000, v) for k, v in (("1 observed", False), ("all", True))},
        "bytes",
    )


if __name__ == "__main__":
    main()
