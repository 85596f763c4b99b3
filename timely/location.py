"""Locations: the ports of nodes."""

from typing import TypeAlias

import attrs


@attrs.frozen(order=True)
class Source:
    """An output port: messages leave a node here, and the node's right to send is held here.

    >>> Source(2, 0)
    Source(node=2, port=0)
    """

    node: int
    port: int = 0


@attrs.frozen(order=True)
class Target:
    """An input port: messages wait here until the node takes them."""

    node: int
    port: int = 0


Location: TypeAlias = Source | Target
"""Either kind of port. The term is from 003; 000 speaks of nodes and edges."""
