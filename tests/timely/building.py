"""Small graphs in a line or two."""

from timely import GraphBuilder, Source, Target


def building(nodes, edges):
    """Begin a graph of named nodes: a node is given as its summary, or as its numbers of inputs and outputs.

    An edge leads from one node number to another, or from a `Source` to a `Target`.
    """
    builder = GraphBuilder()
    for name, node in nodes.items():
        if isinstance(node, tuple):
            builder.add_node(name, *node)
        else:
            builder.add_node(name, 1, 1, {(0, 0): node})
    for start, end in edges:
        builder.add_edge(*((start, end) if isinstance(start, Source) else (Source(start), Target(end))))
    return builder


def around(count):
    """The edges of a ring of nodes."""
    return [(n, (n + 1) % count) for n in range(count)]
