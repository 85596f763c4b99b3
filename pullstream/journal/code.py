"""A function's code as values that do not depend on where in a file it is written.

Line numbers, file names, comments and docstrings are left out. So are instructions that do nothing, because their
number changes when lines move. The rest depends on the minor version of Python (see `PYTHON`).
"""

import dis
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from types import CodeType
from typing import Any, Final

PYTHON: Final = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}" + (
    f" -{'O' * sys.flags.optimize}" if sys.flags.optimize else ""
)
"""Code can be compared only within one such version: minor versions have different instructions, -O leaves some out."""

_NOTHING: Final = frozenset({"NOP", "CACHE", "EXTENDED_ARG"})

_JUMPS: Final = frozenset([*dis.hasjrel, *dis.hasjabs])

_PAIRS: Final = re.compile(r"((?:LOAD|STORE)_FAST)_((?:LOAD|STORE)_FAST)")
"""Two instructions in one: Python 3.13 combines instructions of the same line."""

_DOCSTRING: Final = 0x4000000
"""The flag with which Python 3.13 marks code that has a docstring."""

_NAMED: Final = frozenset([*dis.hasname, *dis.haslocal, *dis.hasfree])


def canonical(code: CodeType) -> tuple[Any, ...]:
    """Return a value that is equal for code objects with the same instructions, including nested ones."""
    steps = _steps(code)
    starts = [step.offset for step in steps]

    def index(offset: int) -> int:
        """Return the index of the first instruction at or after an offset."""
        return bisect_left(starts, offset)

    # The range of each `try`, and the start of its handler.
    handled: list[Any] = vars(dis.Bytecode(code))["exception_entries"]  # missing in the type stubs
    tries: list[Any] = [
        (index(each.start), index(each.end), index(each.target), each.depth, each.lasti) for each in handled
    ]
    count = code.co_argcount + code.co_kwonlyargcount
    arguments = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_varnames[:count])
    lines = [_comparable(step, index, code) for step in steps]
    return (code.co_name, arguments, code.co_flags & ~_DOCSTRING, code.co_freevars, lines, tries)


def _steps(code: CodeType) -> list[dis.Instruction]:
    return [each for step in dis.get_instructions(code) if step.opname not in _NOTHING for each in _apart(step)]


def _apart(step: dis.Instruction) -> Sequence[dis.Instruction]:
    # Python 3.14 has two instructions that load a variable, and uses one or the other depending on the line numbers.
    whole = step.opname.replace("_BORROW", "")
    pair = _PAIRS.fullmatch(whole)
    if pair is None:
        return (step._replace(opname=whole),)
    return [
        step._replace(opname=name, opcode=dis.opmap[name], argval=value, argrepr=value)
        for name, value in zip(pair.groups(), step.argval, strict=True)
    ]


def _comparable(step: dis.Instruction, index: Callable[[int], int], code: CodeType) -> tuple[Any, ...]:
    if step.opcode in _JUMPS:
        return step.opname, index(step.argval)
    if step.opcode in dis.hasconst:
        # Not `step.argval`: in Python 3.11 and 3.12 it does not give the names of a call's keyword arguments.
        value: Any = code.co_consts[step.arg or 0]
        return step.opname, canonical(value) if isinstance(value, CodeType) else value
    if step.opcode in _NAMED:
        return step.opname, step.argrepr, str(step.argval)
    return step.opname, step.arg


def global_names(code: CodeType) -> Iterator[tuple[str, ...]]:
    """Yield the global names that code reads, each with the attributes read from it; includes nested code."""
    steps = _steps(code)
    for number, step in enumerate(steps):
        if step.opname in {"LOAD_GLOBAL", "LOAD_NAME"}:
            taken = takewhile(lambda after: after.opname in {"LOAD_ATTR", "LOAD_METHOD"}, steps[number + 1 :])
            yield step.argval, *(after.argval for after in taken)
        elif step.opcode in dis.hasconst and isinstance(step.argval, CodeType):
            yield from global_names(step.argval)
