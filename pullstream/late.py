"""Package names that are loaded on first use, so that a program pays only for what it uses (PEP 562).

Such a package imports its names for type checkers only:

    if TYPE_CHECKING:
        from package.file import name as name
    else:
        __getattr__, __dir__, __all__ = late(__name__)

Python compiles these imports without running them. `late` finds all imports below its own in the compiled code, and
runs each at the first use of its name. No name may equal a file name in the package: the file would replace it.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from inspect import currentframe
from itertools import dropwhile
from types import CodeType, FrameType, ModuleType
from typing import Any

from pullstream.signature import present

PROVIDED: dict[str, Callable[[Any], str]] = {}
"""Functions of higher layers that lower ones call by name: the package's `__init__` sets them."""

IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def late(package: str, *, hints: str = "") -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Make the `__getattr__`, `__dir__` and `__all__` of the calling package, from its imports.

    `hints` names a module whose `hint(package, name)` returns a sentence about what to use instead of a missing name,
    or "" if there is no hint.
    """
    here = currentframe()
    assert here is not None
    assert here.f_back is not None
    where = dict(dropwhile(lambda found: found != ("late", __name__), _imports(here.f_back.f_code)))
    del where["late"]
    names = sorted(where)

    def load(name: str) -> object:
        if name not in where:
            raise missing(package, name, hints, currentframe())
        file = where[name]
        # Not by `getattr`, which would call this function again for a file of the package itself.
        content = vars(import_module(file))
        found: object = content[name] if name in content else import_module(f"{file}.{name}")
        present(found)
        setattr(sys.modules[package], name, found)
        return found

    return load, lambda: names, names


def _imports(code: CodeType) -> Iterator[tuple[str, str]]:
    """Find the names that a module imports, each with its file."""
    file = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            file = step.argval
        elif step.opname == "IMPORT_FROM":
            yield step.argval, file


def publish(package: str) -> None:
    """Let `help` show short signatures of a package's names and `dir` list them, and give a hint for a missing one.

    Without an `__all__`, the package's names are all that it has imported or defined, except modules and `publish`.
    """
    content: dict[str, Any] = vars(sys.modules[package])
    if "__all__" not in content:
        known = (name for name, thing in content.items() if thing is not publish and not isinstance(thing, ModuleType))
        content["__all__"] = sorted(name for name in known if not name.startswith("_"))
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
