"""How a chapter is presented: prose, then code, then the output of the code, piece by piece.

A piece is a function of a chapter whose docstring begins with a number. The docstring is the prose, and a comment at
the end of the function is its output:

    # | hello

The tests run every piece and compare its output with the comment. All other statements at the top level of a chapter,
its imports and aliases, its functions and classes, are the tools of the pieces after them; they are printed as code.
"""

import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from textwrap import dedent, fill, indent
from typing import TypeGuard

import attrs

from tutorials.pictures import pictures_of

Piece = Callable[[], None]

PRINTED = "    # | "

TELLS = re.compile(r"(?<=from tutorials\.lesson import say), tell$")
"""The part of a chapter's imports that is only for printing it."""


@attrs.frozen
class Part:
    """A top-level statement of a chapter: its source, the names that it defines, and those that it uses."""

    source: str
    defines: frozenset[str]
    uses: frozenset[str]
    piece: Piece | None = None


def tell(chapter: str, numbers: Sequence[int] = ()) -> None:
    """Print a chapter, a module by name: its introduction, its tools as code, its pieces as prose, code and output.

    With numbers, print these pieces only, and the tools that they use.
    """
    parts = list(parts_of(chapter))
    if numbers:
        parts = used([part for part in parts if part.piece and number_of(part.piece) in numbers], parts)
    with until_closed():
        if not numbers:
            print(introduction(chapter))
        for told, group in groupby(parts, lambda part: part.piece):
            if told is None:
                print(f"\n\n{indent(tools(group), '    ')}")
                continue
            line, _, prose = inspect.cleandoc(told.__doc__ or "").partition("\n")
            line = line.removesuffix(".")
            print(f"\n\n{line}\n{'-' * len(line)}\n{prose}\n\n{indent(code(told), '    ')}\n\nprints\n")
            told()
            for picture in pictures_of(chapter, told.__name__):
                print(f"\npicture: {picture.title} ({os.path.relpath(picture.file)})")


def introduction(chapter: str) -> str:
    """Return the introduction of a chapter, a module by name."""
    return inspect.cleandoc(importlib.import_module(chapter).__doc__ or "")


@contextmanager
def until_closed() -> Generator[None]:
    """Print until the reader stops reading: a closed pipe, as after `q` in a pager, is no error."""
    try:
        yield
        print(end="", flush=True)
    except BrokenPipeError:
        # Otherwise the interpreter would write the rest of the buffer at its end, and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def pieces(chapter: str) -> list[Piece]:
    """Return the pieces of a chapter, in order."""
    return [part.piece for part in parts_of(chapter) if part.piece is not None]


def code(piece: Piece) -> str:
    """Return the code of a piece: its source without the docstring and the expected output."""
    source = inspect.getsource(piece)
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    lines = source.splitlines()[function.body[0].end_lineno : function.end_lineno]
    return dedent("\n".join(lines)).strip("\n")


def promised(piece: Piece) -> list[str]:
    """Return the expected output of a piece, by lines."""
    lines = inspect.getsource(piece).splitlines()
    return [line.removeprefix(PRINTED) for line in lines if line.startswith(PRINTED.rstrip())]


def say(message: object) -> None:
    """Print an error's message: paths without folders, and lines that fit a page."""
    for line in str(message).replace(f"{Path(__file__).parent}/", "").splitlines():
        print(line if line.startswith(" ") else fill(line, 108, subsequent_indent="  "))


def tools(parts: Iterable[Part]) -> str:
    """Return tools as code: imports together, functions and classes two lines apart."""
    text = before = ""
    for part in parts:
        word = part.source.split(maxsplit=1)[0].replace("from", "import")
        alone = word in {"def", "async", "class"} or word.startswith("@")
        text += "\n" * (3 if alone else 1 + (word != before)) + part.source
        before = word
    return text.lstrip("\n")


def parts_of(chapter: str) -> Iterator[Part]:
    """Yield the top-level statements of a chapter, except its introduction and its `main`."""
    module = importlib.import_module(chapter)
    source = inspect.getsource(module)
    lines = source.splitlines()
    for statement in ast.parse(source).body:
        match statement:
            case ast.Expr() | ast.If() | ast.FunctionDef(name="main"):
                continue
            case ast.ImportFrom(module="tutorials.lesson", names=[ast.alias(name="tell")]):
                continue
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = {name}
            case _:
                names = {found.id for found in filter(_is_stored, ast.walk(statement))} | _imported(statement)
        decorators = getattr(statement, "decorator_list", [])
        first = min((found.lineno for found in decorators), default=statement.lineno)
        uses = {found.id for found in ast.walk(statement) if isinstance(found, ast.Name)}
        defined = getattr(module, next(iter(names)), None) if isinstance(statement, ast.FunctionDef) else None
        piece = defined if (getattr(defined, "__doc__", "") or "")[:1].isdigit() else None
        shown = "\n".join(lines[first - 1 : statement.end_lineno])
        yield Part(TELLS.sub("", shown), frozenset(names), frozenset(uses), piece)


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _imported(statement: ast.stmt) -> set[str]:
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return set()
    return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}


def used(pieces: list[Part], parts: list[Part]) -> list[Part]:
    """Return pieces with the tools that they use, directly or through other tools, in the chapter's order."""
    wanted = {name for piece in pieces for name in piece.uses}
    known = -1
    while known != len(wanted):
        known = len(wanted)
        wanted |= {name for part in parts if not part.piece and part.defines & wanted for name in part.uses}
    return [part for part in parts if part in pieces or (not part.piece and part.defines & wanted)]


def number_of(piece: Piece) -> int:
    """Return the number of a piece."""
    return int((piece.__doc__ or "").partition(".")[0])
