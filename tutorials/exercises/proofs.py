"""9.1 Could-result-in, as a table.

A graph is as in chapter 9: `edges` says where each edge begins and where it ends; `None` is outside.

    {"in": (None, "body"), "a": ("body", "again"), "b": ("again", "body"), "out": ("body", None)}

`steps` describes the nodes: with (node, time, edge, later), an event at `time` at `node` may send a message on `edge`
at `later`. Places are nodes and edges; a place and a time are a pointstamp. One could result in another by a proof:

    a chain of places, from the first pointstamp's to the second's, that visits no place twice;
    from an edge it goes to the node where the edge ends, at the same time;
    from a node it goes to an edge, by a step that the node may take;
    and at each place it may wait: the time there may become any later one.

A single place is a chain, too. `could_result_in(edges, steps, times)` returns the set of all pairs of pointstamps in
which the first could result in the second. `times` are numbers, in order.
"""


def could_result_in(edges, steps, times):
    pairs = set()
    for edge, (_, end) in edges.items():
        if end is not None:
            pairs |= {((edge, time), (end, time)) for time in times}
    return pairs | {((node, time), (edge, later)) for node, time, edge, later in steps}  # and chains of these?
