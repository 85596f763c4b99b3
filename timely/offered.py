"""The names that a package offers."""

from collections.abc import Callable
from types import ModuleType
from typing import Any


def offered(content: dict[str, Any]) -> tuple[Callable[[], list[str]], list[str]]:
    """Make the `__dir__` and `__all__` of a package, from the names that its `__init__` imports from its files."""
    names = sorted(name for name, thing in content.items() if name[0] != "_" and not isinstance(thing, ModuleType))
    return lambda: names, names
