"""How a chapter is told: prose, then code, then what the code prints, piece by piece.

A piece is a function of a chapter whose docstring begins with a number. The docstring is the prose, and a comment that
ends the function is what it prints:

    # | hello

The tests run every piece and hold it to its word. The other functions and classes of a chapter are the tools that the
pieces after them use.
"""

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, fill, indent
from typing import TypeGuard

Piece = Callable[[], None]

PRINTED = "    # | "


def tell(chapter: str) -> None:
    """Print a chapter, a module by name: its introduction, its tools as code, its pieces as prose, code and output."""
    print(inspect.cleandoc(sys.modules[chapter].__doc__ or ""))
    for part in _parts(chapter):
        if not _is_piece(part):
            print(f"\n\n{indent(inspect.getsource(part), '    ')}", end="")
            continue
        title, _, prose = inspect.cleandoc(part.__doc__ or "").partition("\n")
        title = title.removesuffix(".")
        print(f"\n\n{title}\n{'-' * len(title)}\n{prose}\n\n{indent(code(part), '    ')}\n\nprints\n")
        part()


def pieces(chapter: str) -> list[Piece]:
    """The pieces of a chapter, in order."""
    return [part for part in _parts(chapter) if _is_piece(part)]


def code(piece: Piece) -> str:
    """What a piece does: its source without the docstring, and without what it says that it prints."""
    source = inspect.getsource(piece)
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    lines = source.splitlines()[function.body[0].end_lineno : function.end_lineno]
    return dedent("\n".join(lines)).strip("\n")


def promised(piece: Piece) -> list[str]:
    """The lines that a piece says it prints."""
    lines = inspect.getsource(piece).splitlines()
    return [line.removeprefix(PRINTED) for line in lines if line.startswith(PRINTED.rstrip())]


def say(message: object) -> None:
    """Print an error's message: paths without their folders, and lines that fit a page."""
    for line in str(message).replace(f"{Path(__file__).parent}/", "").splitlines():
        print(line if line.startswith(" ") else fill(line, 108, subsequent_indent="  "))


def _parts(chapter: str) -> list[Callable[..., object]]:
    """What a chapter defines, in order."""
    module = sys.modules[chapter]
    own = [part for part in vars(module).values() if getattr(part, "__module__", "") == chapter and callable(part)]
    return [part for part in own if part.__name__ != "main"]


def _is_piece(part: Callable[..., object]) -> TypeGuard[Piece]:
    return (part.__doc__ or "")[:1].isdigit()
