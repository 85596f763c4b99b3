"""The judge of `could_result_in`: compares with the model of timely dataflow, on loops and on random graphs."""

import random

from pullstream.timely.theory import model
from tutorials.judging import Wrong

HINTS = {
    "": (
        "Read sections 9.1 to 9.4.",
        "Draw the chain. Does it visit a place twice? May it wait, and where? Is a single place a chain?",
        "Walk from each place, with the set of visited places; at each place continue at every later time, too.",
    ),
}

EDGES = {"in": (None, "body"), "a": ("body", "again"), "b": ("again", "body"), "out": ("body", None)}
TIMES = (0, 1, 2)


def judge(answer, seeds):
    """Judge an answer."""
    could_result_in = answer["could_result_in"]
    for edges, steps in worlds(seeds):
        got, want = could_result_in(edges, steps, TIMES), by_the_model(edges, steps)
        if got == want:
            continue
        said = f"for\n{edges}\nand the steps\n{sorted(steps)}\n"
        if not isinstance(got, (set, frozenset)):
            raise Wrong("values", f"{said}it returned {got!r}; return a set of pairs")
        missing, more = (sorted(some, key=repr) for some in (want - got, got - want))
        if missing:
            here, there = min(missing, key=lambda pair: len(chain(edges, steps, *pair)))
            shown = ", ".join(chain(edges, steps, here, there))
            waits = " and a wait" if here != there and here[0] == there[0] else ""
            raise Wrong("values", f"{said}{here} could result in {there}, by the chain {shown}{waits}: missing")
        raise Wrong("values", f"{said}it has {more[0]}, but no chain without a repeated place goes there")


def worlds(seeds):
    """Yield loops that count, go back in time, or are left at a choice, and some random graphs."""
    for advance in (1, -1):
        again = {("again", t, "b", t + advance) for t in TIMES if t + advance in TIMES}
        yield EDGES, {("body", t, edge, t) for t in TIMES for edge in ("a", "out")} | again
    yield {"in": (None, "one"), "out": ("one", None)}, {("one", 0, "out", 2)}
    chance = random.Random(seeds)  # noqa: S311 - nothing is kept secret by it
    for _ in range(10 * seeds):
        # The model has no edge from a node to itself.
        edges = {name: tuple(chance.sample(["one", "two", "three", None], 2)) for name in "abcde"}
        yield (
            edges,
            {(start, chance.choice(TIMES), name, chance.choice(TIMES)) for name, (start, _) in edges.items() if start},
        )


def by_the_model(edges, steps):
    """Return the relation by Definition 2 of the model."""
    leads = relation(edges, steps)
    return {(tuple(here), tuple(there)) for here in leads.stamps for there in leads.stamps if leads(here, there)}


def relation(edges, steps):
    """Build the model's relation."""
    nodes = tuple(dict.fromkeys(end for ends in edges.values() for end in ends if end is not None))
    graph = model.ModelGraph(nodes, tuple(model.Edge(name, *ends) for name, ends in edges.items()))
    return model.CouldResultIn(graph, TIMES, [model.Step(*step) for step in steps])


def chain(edges, steps, here, there):
    """Return the places of a shortest proof, for the message."""
    agenda = [(here[0], here[1], (here[0],))]
    for place, time, visited in agenda:
        if place == there[0] and time <= there[1]:
            return visited
        onward = {(edges[place][1], time)} if place in edges else set()
        onward |= {(edge, later) for node, at, edge, later in steps if node == place and at >= time}
        agenda += [(end, at, (*visited, end)) for end, at in sorted(onward, key=repr) if end and end not in visited]
    return ()
