"""Modules under test, by name: `package.module:name`, `file.py:name`, `package.module:name(argument)`."""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from pullstream.blueprint import Blueprint
from pullstream.conformance.places import defined, place_of
from pullstream.conformance.subject import Subject


def subject_of(target: str) -> Subject:
    """Return the subject for the name of a blueprint, a function that makes one, or a Subject; else LookupError.

    A function may be written as a call, `own:every(3, last=True)`: these arguments come after those of the kit.
    """
    where, colon, expression = target.partition(":")
    if not (colon and expression):
        raise LookupError(f"{target!r} does not name a module of yours: write package.module:name, or file.py:name")
    home = _imported(where)
    name, make = _call(target, expression, home)
    found: Any = home
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            own = [key for key, value in vars(cast("object", home)).items() if _is_own(value, home)]
            raise LookupError(f"{where!r} has no {name!r}{'; it has ' * bool(own)}{', '.join(own)}")
    if isinstance(found, Subject):
        return found
    if isinstance(found, Blueprint):
        return Subject(expression, lambda: found)
    if callable(found):
        return Subject(expression, make or cast("Callable[..., Blueprint]", found), site=defined(found))
    raise LookupError(f"{target} is {found!r}: neither a blueprint, nor a function that makes one, nor a Subject")


def _is_own(value: Any, home: Any) -> bool:
    """Whether a file defines a value that can be tested."""
    return isinstance(value, Blueprint) or (callable(value) and getattr(value, "__module__", "") == home.__name__)


def _imported(where: str) -> Any:
    path = Path(where)
    if where.endswith(".py") and not path.is_file():
        raise LookupError(f"there is no file {where}")
    try:
        if not where.endswith(".py"):
            return importlib.import_module(where)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        sys.path.insert(0, str(path.parent.resolve()))
        spec.loader.exec_module(module)
    except (ImportError, SyntaxError) as exc:
        raise LookupError(f"{where!r} cannot be imported: {exc}") from exc
    except (Exception, SystemExit) as exc:
        raised = f"it raises {type(exc).__name__}: {exc}, at {place_of(exc)}"
        raise LookupError(f"{where!r} cannot be imported: {raised}") from exc
    return module


def _call(target: str, expression: str, home: Any) -> tuple[str, Callable[..., Blueprint] | None]:
    """Return the name in an expression and, if it is a call, a function that makes it after the kit's arguments."""
    try:
        call = ast.parse(expression, mode="eval").body
    except SyntaxError as exc:
        raise LookupError(f"{target!r} is neither a name nor a call: {exc.msg}") from None
    if not isinstance(call, ast.Call):
        return expression, None
    call.args.insert(0, ast.Starred(ast.Name("_given", ast.Load()), ast.Load()))
    code = compile(ast.fix_missing_locations(ast.Expression(call)), target, "eval")
    # The arguments are evaluated again for each module.
    return ast.unparse(call.func), lambda *given: eval(code, {**vars(home), "_given": given})  # noqa: S307 - the user's own command line
