"""Random graphs, times and histories for the tests of `timely`."""

import random
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests.sampling import amount
from timely import (
    BEGINNING,
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    Delay,
    GraphBuilder,
    LoopTime,
    MapTime,
    NaiadSummary,
    NaiadTime,
    Product,
    Source,
    Target,
)
from timely.products import Componentwise

# On a busy machine, a slow example proves nothing.
settings.register_profile("timely", max_examples=amount(30, 100), deadline=None)
settings.load_profile("timely")


def _even(time):
    if isinstance(time, LoopTime):
        return LoopTime(time.outer, (*time.counters[:-1], time.counters[-1] + time.counters[-1] % 2))
    return time + time % 2


EVEN = MapTime(_even)


class Family:
    """A domain of times with its summaries: integers, products, Naiad's order."""

    def __init__(self, kind):
        naiad = kind == "naiad"
        self.kind = kind
        self.loops = kind != "product"
        self.enter, self.leave, self.feedback = (
            (NaiadSummary(enters=(0,)), NaiadSummary(leaves=1), NaiadSummary(feedback=1))
            if naiad
            else (ENTER, LEAVE, FEEDBACK)
        )

    def base_step(self, rng):
        """A strictly advancing summary at the outermost level."""
        if self.kind == "int":
            return Delay(rng.choice([1, 1, 2]))
        if self.kind == "product":
            return Componentwise((Delay(1), IDENTITY)) if rng.random() < 0.5 else Componentwise((Delay(0), Delay(1)))
        return MapTime(_next_epoch, strict=True)

    def plain_step(self, rng, depth):
        """A summary that advances, but maybe not strictly."""
        if self.kind == "int" and rng.random() < 0.3:
            return EVEN if depth or rng.random() < 0.5 else Delay(1)
        if self.kind == "product" and rng.random() < 0.3:
            return self.base_step(rng)
        return IDENTITY

    def time(self, rng, depth):
        if rng.random() < 0.08:
            return BEGINNING
        counters = tuple(rng.randrange(4) for _ in range(depth))
        if self.kind == "product":
            return Product(rng.randrange(4), rng.randrange(4))
        if self.kind == "naiad":
            return NaiadTime(rng.randrange(4), counters)
        base = rng.randrange(6)
        return LoopTime(base, counters) if depth else base


def _next_epoch(time):
    return NaiadTime(time.epoch + 1, time.counters)


class Maker:
    """Builds a random nested graph: each context is a chain of nodes with extra edges forward and strict edges back."""

    def __init__(self, rng, kind=None, size=4, deepest=2):
        self.rng = rng
        self.family = Family(kind or rng.choice(["int", "int", "product", "naiad"]))
        self.builder = GraphBuilder()
        self.depth = []  # per node: inputs' and outputs' depth
        self.size = size
        self.deepest = deepest

    def node(self, label, inputs, outputs, summaries, depth_in, depth_out):  # noqa: PLR0917
        index = self.builder.add_node(f"{label}{len(self.depth)}", inputs, outputs, summaries)
        self.depth.append((depth_in, depth_out))
        return index

    def operator(self, depth):
        rng = self.rng
        inputs, outputs = rng.choice([(1, 1), (1, 1), (2, 1), (1, 2), (2, 2)])
        summaries = {
            (i, o): self.family.plain_step(rng, depth)
            for i in range(inputs)
            for o in range(outputs)
            if rng.random() < 0.85 or (i, o) == (0, 0)
        }
        return self.node("op", inputs, outputs, summaries, depth, depth), inputs, outputs

    def context(self, depth, entry):
        """Add the nodes of one loop context, in forward order from the Source `entry`; return a Source to end with."""
        rng = self.rng
        ends = [entry]
        inputs = []
        for _ in range(rng.randrange(1, self.size + 1)):
            if self.family.loops and depth < self.deepest and rng.random() < 0.3:
                target, source = self.loop(depth, rng.choice(ends))
                inputs.append(target)
                ends.append(source)
                continue
            node, n_in, n_out = self.operator(depth)
            for i in range(n_in):
                for source in {rng.choice(ends) for _ in range(rng.choice([1, 1, 2]))}:
                    self.builder.add_edge(source, Target(node, i))
                inputs.append(Target(node, i))
            ends += [Source(node, o) for o in range(n_out)]
        for _ in range(rng.choice([0, 0, 1, 2])):
            back = self.family.base_step(rng) if depth == 0 else self.family.feedback
            node = self.node("back", 1, 1, {(0, 0): back}, depth, depth)
            self.builder.add_edge(rng.choice(ends), Target(node))
            self.builder.add_edge(Source(node), rng.choice(inputs))
        return rng.choice(ends)

    def loop(self, depth, entry):
        enter = self.node("enter", 1, 1, {(0, 0): self.family.enter}, depth, depth + 1)
        self.builder.add_edge(entry, Target(enter))
        last = self.context(depth + 1, Source(enter))
        leave = self.node("leave", 1, 1, {(0, 0): self.family.leave}, depth + 1, depth)
        self.builder.add_edge(last, Target(leave))
        return Target(enter), Source(leave)

    def make(self):
        start = self.node("start", 0, 1, None, 0, 0)
        self.context(0, Source(start))
        graph = self.builder.build()
        depths = [self.depth[loc.node][isinstance(loc, Source)] for loc in graph.locations]
        return SimpleNamespace(
            graph=graph,
            depths=depths,
            rng=self.rng,
            time=lambda place: self.family.time(self.rng, depths[place]),
            family=self.family,
        )


@pytest.fixture
def random_graph():
    """A function that makes a random graph from a seed, with `graph`, `depths`, `time(place)`, `rng`."""

    def make(seed, kind=None, size=4, deepest=2):
        return Maker(random.Random(seed), kind, size, deepest).make()

    return make


@pytest.fixture
def history():
    """A function that yields rounds of justified updates: pointstamps move, multiply, advance and disappear."""

    def rounds(made, number, start=None):
        rng, graph = made.rng, made.graph
        stamps = {}

        def change(place, time, delta, out):
            stamps[place, time] = stamps.get((place, time), 0) + delta
            if not stamps[place, time]:
                del stamps[place, time]
            out.append((place, time, delta))

        first = []
        change(graph.place(Source(0)), BEGINNING if start is None else start, 1, first)
        if rng.random() < 0.5:
            place = rng.randrange(len(graph))
            change(place, made.time(place), 1, first)
        yield first
        for _ in range(number):
            out = []
            for _ in range(rng.randrange(1, 4)):
                if not stamps:
                    break
                place, time = rng.choice(list(stamps))
                act = rng.randrange(4)
                if act == 0 and graph.successors[place]:
                    end, summary = rng.choice(graph.successors[place])
                    later = summary.results_in(time)
                    if later is not None:
                        change(end, later, 1, out)
                elif act == 1:
                    later = made.time(place)
                    if time <= later:
                        change(place, later, 1, out)
                        change(place, time, -1, out)
                else:
                    change(place, time, -1, out)
            yield out

    return rounds
