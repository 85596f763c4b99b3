"""The type variables of signatures."""

from collections.abc import Hashable
from typing import Any

from typing_extensions import TypeVar

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

K = TypeVar("K", bound=Hashable)
"""The key of a value."""

V = TypeVar("V", default=Any)
"""The values of a stream, where no argument tells their type."""
