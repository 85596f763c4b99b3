"""The words of the product: openings of docstrings, names of classes and options, and signatures."""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

import pullstream as ps
from pullstream.signature import Signature
from tutorials.site.reference import PACKAGES as PUBLIC, door

ROOT = Path(__file__).parent.parent
PACKAGES = ["pullstream", "timely", "adapters"]
RIDDLES = re.compile(
    r"(What|Whos?e?|Whom|Whoever|Whatever|Whichever|How|Why|Which|Where|When|While|Until|If|As|So|There|They|That|These"
    r"|Those|This|It|Some(body|one|thing|where)|(No|Any|Every)(body|one|thing)|One more|More|Is|Are|Was|May|Can|Does"
    r"|Has|Have|Be)\b|$"
)
"""Openings that need two readings: a question or a pronoun instead of a noun or a verb."""

OLD = {"width", "processes", "bound", "lag", "longest", "when_full"}
"""Options that `concurrency`, `capacity` and `overflow` have replaced."""


def sources(package):
    """The files of a package."""
    return sorted((ROOT / package).rglob("*.py"))


def docstrings(path):
    """The lines and texts of the docstrings in a file, including those of fields."""
    for node in ast.walk(ast.parse(path.read_text())):
        for statement in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
            match statement:
                case ast.Expr(ast.Constant(str(text))):
                    yield statement.lineno, text.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_open_with_a_noun_or_a_verb(package):
    """A noun for a value, a verb for a function, "Whether" for a bool, so that one reading is enough."""
    riddles = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sources(package)
        for line, text in docstrings(path)
        if RIDDLES.match(text)
    ]

    assert riddles == []


@pytest.mark.parametrize("package", PACKAGES)
def test_class_names_are_unique(package):
    """A search for a class name finds one class, private classes included."""
    places = defaultdict(list)
    for path in sources(package):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[node.name.lstrip("_")].append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert {name: found for name, found in places.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    "package", ["pullstream", "pullstream.duplex", "adapters.files", "adapters.spark", "adapters.display"]
)
def test_signatures_are_short_and_have_one_word_for_one_idea(package):
    """No module path, no address, no type that says nothing, and none of the old words."""
    module = importlib.import_module(package)
    functions = {name: thing for name in module.__all__ if inspect.isfunction(thing := getattr(module, name))}
    shown = {name: str(inspect.signature(function)) for name, function in functions.items()}
    riddles = re.compile(rf"[a-z]\.[A-Za-z]|0x|<|~|: Any\b|: object\b|Union|Optional|Ellipsis|\b({'|'.join(OLD)})\b")
    assert {name: text for name, text in shown.items() if riddles.search(text)} == {}
    assert len(functions) > 0


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (Callable[[Any], Any], "f(x: Callable)"),
        (Callable[[int], str] | None, "f(x: Callable[[int], str] | None)"),
        (Callable[..., Any], "f(x: Callable)"),
        (Any, "f(x)"),
        (tuple[Any, ...], "f(x: tuple)"),
        (tuple[int, ...], "f(x: tuple[int, ...])"),
        (Literal["a", "b"] | None, "f(x: 'a' | 'b' | None)"),
        ("types.Running[Any]", "f(x: Running[Any])"),
        (TypeVar("T"), "f(x: T)"),
        (dict[str, ps.Source[Any]], "f(x: dict[str, Source])"),
    ],
)
def test_types_are_shown_in_short(annotation, text):
    """As a person would write them, without parts that say nothing."""

    def f(x):
        pass

    f.__annotations__["x"] = annotation
    assert f"f{Signature.of(f)}" == text


@pytest.mark.parametrize("package", PUBLIC)
def test_dir_lists_only_public_names(package):
    """`dir` is what people see when they press Tab."""
    for name in {package, door(package)}:
        module = importlib.import_module(name)
        assert sorted(dir(module)) == sorted(module.__all__)
