"""The model of the theory does it."""

from pullstream.timely.theory.model import CouldResultIn, Edge, ModelGraph, Step


def could_result_in(edges, steps, times):
    nodes = {end for ends in edges.values() for end in ends} - {None}
    graph = ModelGraph(tuple(nodes), tuple(Edge(name, *ends) for name, ends in edges.items()))
    leads = CouldResultIn(graph, tuple(times), [Step(*step) for step in steps])
    return {(here, there) for here in leads.stamps for there in leads.stamps if leads(here, there)}
