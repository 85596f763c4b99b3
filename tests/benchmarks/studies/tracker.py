"""What the tracker costs, with growth curves. Run: `python -m tests.benchmarks --only tracker`.

Every figure is the median of interleaved repeats, in microseconds; the ratio to the first column shows how it grows.
Machines differ and are shared: read the ratios.
"""

import gc
import statistics
import time
import tracemalloc

from timely import FEEDBACK, GraphBuilder, Product, Source, Target, Tracker

REPEATS = 7


def curve(title, make, sizes, unit="us", per=lambda size: 1):
    """Print how a figure grows: medians over sizes, the repeats of all sizes interleaved."""
    runs = {size: make(size) for size in sizes}
    seen = {size: [] for size in sizes}
    for _ in range(REPEATS):
        for size, run in runs.items():
            gc.collect()
            seen[size].append(run() / per(size))
    print(f"\n{title}")
    first = statistics.median(seen[sizes[0]])
    for size, figures in seen.items():
        figure = statistics.median(figures)
        print(f"  {size!s:>12}  {figure:10.2f} {unit}   x{figure / first:.2f}")


def stepping(graph, observed, first, step, times):
    """Return a run: microseconds for each step of a new tracker that begins with some times at places."""

    def run():
        tracker = Tracker(graph)
        for place in observed:
            tracker.observe(place)
        for place, at in first:
            tracker.update(place, at, 1)
        tracker.propagate()
        start = time.perf_counter()
        for number in range(times):
            step(tracker, number)
        return (time.perf_counter() - start) / times * 1e6

    return run


def moved(tracker, place, before, after):
    """Move a time at a place, and propagate."""
    tracker.update(place, after, 1)
    tracker.update(place, before, -1)
    tracker.propagate()


def chain(length):
    """A line of nodes: the graph, the place of the first output, the places of all inputs."""
    builder = GraphBuilder()
    builder.add_node("start", 0, 1)
    for i in range(length):
        builder.add_edge(Source(i), Target(builder.add_node(f"n{i}", 1, 1)))
    graph = builder.build()
    return graph, graph.place(Source(0)), [graph.place(Target(i + 1)) for i in range(length)]


def all_observed(make):
    def case(length):
        graph, start, inputs = chain(length)
        step = lambda tracker, i: moved(tracker, start, make(i), make(i + 1))  # noqa: E731
        return stepping(graph, inputs, [(start, make(0))], step, 20_000 // length)

    return case


def five_observers(length):
    graph, start, inputs = chain(length)
    observed = [inputs[(i + 1) * length // 5 - 1] for i in range(5)]
    return stepping(graph, observed, [(start, 0)], lambda tracker, i: moved(tracker, start, i, i + 1), 2_000)


def hopping(*, everywhere):
    """A message that hops round a loop of nodes and a feedback."""

    def case(length):
        builder = GraphBuilder()
        start = builder.add_node("start", 0, 1)
        nodes = [builder.add_node(f"n{i}", 1, 1) for i in range(length)]
        back = builder.add_node("feedback", 1, 1, {(0, 0): FEEDBACK})
        builder.add_edge(Source(start), Target(nodes[0]))
        for a, b in zip([*nodes, back], [*nodes[1:], back, nodes[0]], strict=True):
            builder.add_edge(Source(a), Target(b))
        graph = builder.build()
        ring = [graph.place(end(node)) for node in [*nodes, back] for end in (Target, Source)]

        def hop(tracker, i):
            # The time is one more at the feedback's output, which is the last place of the ring.
            tracker.update(ring[i % len(ring)], (i + 1) // len(ring), -1)
            tracker.update(ring[(i + 1) % len(ring)], (i + 2) // len(ring), 1)
            tracker.propagate()

        return stepping(graph, ring if everywhere else ring[:1], [(ring[0], 0)], hop, 4_000)

    return case


def outstanding(number):
    graph, start, inputs = chain(1)
    first = [(start, i) for i in range(number)]
    return stepping(graph, inputs, first, lambda tracker, i: moved(tracker, start, i, i + number), 4_000)


def wide(width):
    graph, start, inputs = chain(10)

    def step(tracker, i):
        at, turn = i % width, i // width
        moved(tracker, start, Product(8 * at + turn, 8 * (width - at)), Product(8 * at + turn + 1, 8 * (width - at)))

    # Far enough apart that an element may advance seven times and stay incomparable with its neighbours.
    first = [(start, Product(8 * i, 8 * (width - i))) for i in range(width)]
    return stepping(graph, inputs, first, step, min(7 * width, 100))


def dominated(batch):
    graph, start, inputs = chain(10)

    def step(tracker, i):
        tracker.update(inputs[3], 5, 1)
        tracker.update(inputs[3], 5, -1)
        if i % batch == 0:
            tracker.propagate()

    return stepping(graph, inputs[-1:], [(start, 0)], step, 20_000)


def building(*, collecting):
    """Build and plan a chain, and propagate once, with the garbage collector on or off."""

    def case(ports):
        def run():
            if not collecting:
                gc.disable()
            start = time.perf_counter()
            graph, _, inputs = chain(ports // 2)
            tracker = Tracker(graph)
            tracker.observe(inputs[-1])
            tracker.propagate()
            seconds = time.perf_counter() - start
            gc.enable()
            return seconds * 1e6

        return run

    return case


def memory(observed):
    """Bytes of a chain's graph and tracker."""

    def run():
        tracemalloc.start()
        graph, start, inputs = chain(1_000)
        tracker = Tracker(graph)
        for place in inputs if observed == "all" else inputs[-1:]:
            tracker.observe(place)
        tracker.update(start, 0, 1)
        tracker.propagate()
        used, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return used

    return run


def main():
    """Measure and print everything."""
    for title, make in (("int", int), ("Product", lambda i: Product(i, 0))):
        told = f"chain of n nodes, every input observed, {title}: one advance, per node"
        curve(told, all_observed(make), (10, 100, 1000), per=int)
    curve("chain of n nodes, 5 observers: one advance", five_observers, (10, 100, 1000))
    loops = (1, 10, 100, 1000)
    curve("hopping round a loop of n nodes, all places observed: per hop", hopping(everywhere=True), loops)
    curve("the same, one place observed: per hop", hopping(everywhere=False), loops)
    told = "n outstanding times, drop the least and add a greater: one advance"
    curve(told, outstanding, (10, 100, 1000, 10_000))
    curve("antichain of n incomparable times, chain of 10 observed: advance one", wide, (1, 4, 16, 64, 256))
    curve("+1/-1 at a dominated time, propagated every n: per pair", dominated, (1, 10, 100))
    for collecting in (True, False):
        told = f"build, plan and first propagation, n ports, collector {'on' if collecting else 'off'}: per port"
        curve(told, building(collecting=collecting), (1000, 10_000, 100_000), per=int)
    curve("memory per node, chain of 1,000", memory, ("1 observed", "all"), "bytes", per=lambda _: 1_000)


if __name__ == "__main__":
    main()
