"""An answer: a learner's file, loaded, and its contents."""

import ast
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from pullstream.blueprint import Site


class Unjudgeable(Exception):
    """Raised for a file that cannot be judged: it does not load, or lacks a required name."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


class Answer:
    """The contents of a learner's file, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.last: int | None = None
        """The line of the last name looked up, for a mistake without its own line."""
        self.module = _loaded(path)

    def __getitem__(self, name: str) -> Any:
        """Return the object of a name."""
        try:
            found = getattr(self.module, name)
        except AttributeError:
            raise Unjudgeable(f"{self.path.name} has no {name!r}: keep the names of the template") from None
        self.last = self._line(name)
        return found

    def returned(self, name: str, *arguments: Any) -> Any:
        """Call a function, and return its result, which may not be None."""
        result = self[name](*arguments)
        if result is None:
            raise Unjudgeable(f"{name}() returned None: is a `return` missing?", self.last)
        return result

    def site(self, name: str) -> Site:
        """Return the line where a name is defined or assigned."""
        return Site(self.path.name, self._line(name))

    def _line(self, name: str) -> int:
        try:
            return inspect.getsourcelines(inspect.unwrap(getattr(self.module, name)))[1]
        except (OSError, TypeError):
            told = ast.parse(self.path.read_bytes()).body  # in the encoding that it names
            return next((statement.lineno for statement in told if name in _names(statement)), 1)

    def line(self, exc: BaseException) -> int | None:
        """Return the last line of the file in an exception's traceback."""
        return _line_in(self.path, exc)


def _names(statement: ast.stmt) -> set[str]:
    """Return the names that a statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _line_in(path: Path, exc: BaseException) -> int | None:
    frames = traceback.extract_tb(exc.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return lines[-1] if lines else None


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"answer_{path.stem}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise Unjudgeable(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    # Pickling looks up a definition in its module by name. A dot in that name would require a package.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as exc:
        raise Unjudgeable(f"this is not valid Python: {exc.msg}", exc.lineno) from exc
    except (Exception, SystemExit) as exc:
        raise Unjudgeable(f"it cannot be loaded: {type(exc).__name__}: {exc}", _line_in(path, exc)) from exc
    return module
