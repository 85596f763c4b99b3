"""Locations: the ports of nodes."""

from __future__ import annotations

from typing import TypeAlias

import attrs


@attrs.frozen(order=True)
class Source:
    """An output port: where messages leave a node, and where a node's right to send is held.

    >>> Source(2, 0)
    Source(node=2, port=0)
    """

    node: int
    port: int = 0


@attrs.frozen(order=True)
class Target:
    """An input port: where messages wait to be taken by a node."""

    node: int
    port: int = 0


Location: TypeAlias = Source | Target
"""Either kind of port; 003 calls it Location, 000 speaks of nodes and edges."""
