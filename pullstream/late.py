"""Package names that are loaded on first use, so that a program pays only for what it uses (PEP 562).

Such a package writes its imports for type checkers only, and a table with the same content for Python:

    if TYPE_CHECKING:
        from package.file import name
    else:
        __getattr__, __dir__ = late(__name__, {"package.file": "name"})

A test checks that both have the same content. No name may equal a file name in the package: the file would replace it.
"""

import dis
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import currentframe
from types import FrameType
from typing import Any

from pullstream.signature import present

PROVIDED: dict[str, Callable[[Any], str]] = {}
"""Functions of higher layers that lower ones call by name: the package's `__init__` sets them."""

IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def late(
    package: str, files: Mapping[str, str], *, hints: str = ""
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the `__getattr__` and `__dir__` of a package; `files` maps each file to the names it defines.

    A name that its file does not define is the file itself. `hints` names a module whose `hint(package, name)` returns
    a sentence about what to use instead of a missing name, or "" if there is no hint.
    """
    where = {name: file for file, names in files.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in where:
            raise missing(package, name, hints, currentframe())
        file = import_module(where[name])
        found: object = getattr(file, name, file)
        present(found)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: sorted(where)


def publish(package: str) -> None:
    """Let `help` show short signatures of a package's names and `dir` list them, and give a hint for a missing one."""
    content: dict[str, Any] = vars(sys.modules[package])
    names: list[str] = content["__all__"]
    present(*map(content.get, names))

    def load(name: str) -> object:
        raise missing(package, name, "pullstream.hints", currentframe())

    content.update(__dir__=lambda: names, __getattr__=load)


def missing(package: str, name: str, hints: str, frame: FrameType | None) -> AttributeError | ImportError:
    """Make the error for a missing name of a package; `frame` is the frame of its `__getattr__`."""
    hint: str = import_module(hints).hint(package, name) if hints and not name.startswith("_") else ""
    if not hint:
        return AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules.get(package))
    asking = frame and frame.f_back
    if asking and asking.f_code.co_code[asking.f_lasti] == IMPORT_FROM:
        # Python replaces the text of an AttributeError here, which would lose the hint.
        return ImportError(f"cannot import name {name!r} from {package!r}: {hint}", name=package)
    # If the error carried the module, Python would add its own guess.
    return AttributeError(f"module {package!r} has no attribute {name!r}: {hint}", name=name)
