"""How a chapter is told: prose, then code, then what the code prints, piece by piece.

A piece is a function of a chapter whose docstring begins with a number. The docstring is the prose, and a comment that
ends the function is what it prints:

    # | hello

The tests run every piece and hold it to its word. The other functions of a chapter are the tools that its pieces use.
"""

import ast
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent, fill, indent

Piece = Callable[[], None]

PRINTED = "    # | "


def tell(chapter: str) -> None:
    """Print a chapter, a module by name: its introduction, its tools, and every piece as prose, code and output."""
    module = sys.modules[chapter]
    print(inspect.cleandoc(module.__doc__ or ""))
    print("\n\nThe pieces use:\n")
    print(indent("\n\n".join(inspect.getsource(tool) for tool in _functions(chapter) if not _number(tool)), "    "))
    for piece in pieces(chapter):
        title, _, prose = inspect.cleandoc(piece.__doc__ or "").partition("\n")
        print(f"\n{title}\n{'-' * len(title)}\n{prose}\n\n{indent(code(piece), '    ')}\n\nprints\n")
        piece()
        print()


def pieces(chapter: str) -> list[Piece]:
    """The pieces of a chapter, in order."""
    return [function for function in _functions(chapter) if _number(function)]


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


def _functions(chapter: str) -> list[Callable[..., None]]:
    module = sys.modules[chapter]
    functions = [function for _, function in inspect.getmembers(module, inspect.isroutine)]
    own = [function for function in functions if function.__module__ == chapter and function.__name__ != "main"]
    return sorted(own, key=lambda function: function.__code__.co_firstlineno)


def _number(function: Callable[..., None]) -> bool:
    return (function.__doc__ or "")[:1].isdigit()
