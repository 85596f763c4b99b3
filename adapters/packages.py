"""Optional packages as objects, each loaded when one of its names is first used."""

from functools import partial
from importlib import import_module
from typing import Any

from pullstream.authoring import of_extra


class OnUse:
    """A package that one of the toolkit's extras installs; its names, and those of its modules, are attributes.

    If it is not installed, the first use raises the error `missing`, which says how to install it.
    """

    def __init__(self, extra: str, package: str, missing: type[ImportError], *, named: str | None = None) -> None:
        self._load = partial(of_extra, extra, package, missing, named=named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Tools that inspect all names of a module look for these.
            raise AttributeError(name)
        package = self._load()
        try:
            found = getattr(package, name)
        except AttributeError:
            found = import_module(f"{package.__name__}.{name}")
        self.__dict__[name] = found
        return found
