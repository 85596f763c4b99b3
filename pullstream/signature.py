"""Signatures as a person writes them: no module paths, no `Any`, no memory addresses."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, UnionType
from typing import Any, ForwardRef, Literal, Self, TypeVar, Union, cast, get_args, get_origin

from typing_extensions import Unpack, override


class Signature(inspect.Signature):
    """A signature that `help` shows in short form; programs see all of it."""

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """Return the signature of a function."""
        return cls.short(inspect.signature(function))

    @classmethod
    def short(cls, signature: inspect.Signature) -> Self:
        """Return the same signature, to be shown in short form."""
        return cls([*signature.parameters.values()], return_annotation=signature.return_annotation)

    @override
    def __str__(self) -> str:
        return self.format()

    def format(self, *, max_width: int | None = None, quote_annotation_strings: bool = True) -> str:
        """Return the text, on several lines if one would be longer than `max_width`."""
        del quote_annotation_strings
        parameters = [*_written(self.parameters)]
        returned = short(self.return_annotation)
        ending = f" -> {returned}" if returned else ""
        line = f"({', '.join(parameters)}){ending}"
        if max_width is None or len(line) <= max_width:
            return line
        return "\n".join(["(", *(f"    {parameter}," for parameter in parameters), f"){ending}"])


def present(*published: object) -> None:
    """Make `help` show short signatures for functions; other objects are left unchanged."""
    for function in published:
        if isinstance(function, FunctionType) and "__signature__" not in vars(function):
            vars(function)["__signature__"] = Signature.of(function)


def _written(parameters: Mapping[str, inspect.Parameter]) -> Iterable[str]:
    before = None
    for parameter in parameters.values():
        kind = parameter.kind
        if before is parameter.POSITIONAL_ONLY and kind is not before:
            yield "/"
        if kind is parameter.KEYWORD_ONLY and before not in {kind, parameter.VAR_POSITIONAL}:
            yield "*"
        yield _parameter(parameter)
        before = kind
    if before is inspect.Parameter.POSITIONAL_ONLY:
        yield "/"


def _parameter(parameter: inspect.Parameter) -> str:
    annotation = short(parameter.annotation)
    text = "*" * (parameter.kind is parameter.VAR_POSITIONAL) + "**" * (parameter.kind is parameter.VAR_KEYWORD)
    text += f"{parameter.name}: {annotation}" if annotation else parameter.name
    if parameter.default is parameter.empty:
        return text
    default = repr(parameter.default)
    return f"{text}{' = ' if annotation else '='}{'...' if default.startswith('<') else default}"


def short(annotation: Any) -> str:
    """Return the text of a type; "" for one without information.

    >>> from collections.abc import Callable
    >>> short(Callable[[Any], Any]), short(Callable[[int], Any] | None), short(dict[Any, int]), short(Any)
    ('Callable', 'Callable[[int], Any] | None', 'dict[Any, int]', '')
    """
    text = _short(annotation)
    return "" if text in {"Any", "object"} else text


def _short(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    if annotation is None or annotation is type(None):
        return "None"
    if annotation is ...:
        return "..."
    if isinstance(annotation, list):
        return f"[{', '.join(map(_short, cast('list[Any]', annotation)))}]"
    if isinstance(annotation, TypeVar):
        return annotation.__name__
    if isinstance(annotation, (str, ForwardRef)):
        return _without_paths(annotation if isinstance(annotation, str) else annotation.__forward_arg__)
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(repr, parts))
    if origin in {Union, UnionType}:
        shown = [*map(_short, parts)]
        return "Any" if "Any" in shown else " | ".join(dict.fromkeys(shown))
    if origin is Unpack:
        return _short(parts[0])
    if origin is None:
        return str(getattr(annotation, "__name__", _without_paths(repr(annotation))))
    name: str = getattr(origin, "__name__", _without_paths(repr(origin)))
    shown = [*map(_short, parts)]
    return name if {*shown} <= _NOTHING else f"{name}[{', '.join(shown)}]"


_NOTHING = {"Any", "[Any]", "[Any, Any]", "[]", "...", "[object]", "object"}


def _without_paths(text: str) -> str:
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text.replace("~", ""))
