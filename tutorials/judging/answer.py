"""An answer: a file of the learner's, loaded, and what is in it."""

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
    """A file that cannot be judged: it does not load, or has not what is asked for."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


class Answer:
    """What is in a learner's file, by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first: int | None = None
        """The line of what was looked for first, for a mistake that is nowhere in particular."""
        self.module = _loaded(path)

    def __getitem__(self, name: str) -> Any:
        """What the file calls by that name."""
        try:
            found = getattr(self.module, name)
        except AttributeError:
            raise Unjudgeable(f"{self.path.name} has no {name!r}: keep the names that the template has") from None
        if self.first is None:
            self.first = self._line(name)
        return found

    def site(self, name: str) -> Site:
        """The line where something is defined, or assigned."""
        return Site(self.path.name, self._line(name))

    def _line(self, name: str) -> int:
        try:
            return inspect.getsourcelines(inspect.unwrap(getattr(self.module, name)))[1]
        except (OSError, TypeError):
            told = ast.parse(self.path.read_text(encoding="utf-8")).body
            return next((statement.lineno for statement in told if name in _names(statement)), 1)

    def line(self, exc: BaseException) -> int | None:
        """The last line of the file that an exception has come through."""
        frames = traceback.extract_tb(exc.__traceback__)
        lines = [frame.lineno for frame in frames if Path(frame.filename) == self.path]
        return lines[-1] if lines else None


def _names(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"answer_{path.stem}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise Unjudgeable(f"there is no file {path}")
    module = importlib.util.module_from_spec(spec)
    # What is defined in a module is looked up there by its name, when it is pickled for instance: and so it has no dot,
    # before which there would have to be a package.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as exc:
        raise Unjudgeable(f"this is no Python: {exc.msg}", exc.lineno) from exc
    except Exception as exc:
        lines = [frame.lineno for frame in traceback.extract_tb(exc.__traceback__) if Path(frame.filename) == path]
        line = lines[-1] if lines else None
        raise Unjudgeable(f"it cannot be loaded: {type(exc).__name__}: {exc}", line) from exc
    return module
