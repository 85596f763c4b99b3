"""Names of a package that are loaded when they are first asked for, so that a program pays for what it uses (PEP 562).

A package that has them writes its imports for type checkers alone, and for Python a table of the same:

    if TYPE_CHECKING:
        from package.file import name
    else:
        __getattr__, __dir__ = late(__name__, {"package.file": "name"})

That both say the same is tested. No name may be that of a file in the package, which would take its place.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def late(package: str, files: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package; `files` has for each file the names that come from it.

    A file that has none by that name is what is meant itself.
    """
    where = {name: file for file, names in files.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])
        file = import_module(where[name])
        found: object = getattr(file, name, file)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted({*vars(sys.modules[package]), *where})
