"""The types of a pipe's parts in signatures: of modules that others are given, of functions, of modules that fit any.

There are two ways to write them. Most type checkers follow the classes, and carry a type variable that is solved from
one argument of a call into the next, a lambda's parameters among them. mypy does not, and is shown protocols instead:
`MYPY` is true to mypy, whatever is assigned to it. To pyright and ty, and when it runs, the second import is what
holds. pyrefly takes both for one union, and tries it in the order of the names: `Onward` before `Transformer` is no
accident.
"""

from typing import TYPE_CHECKING

MYPY = False

if MYPY:
    from pullstream.blueprint.structural import Function, Function2, Gathering, Into, Onward
else:
    from pullstream.blueprint.nominal import Function, Function2, Gathering, Into, Onward

if TYPE_CHECKING:
    from pullstream.blueprint.structural import (
        Collected,
        CollectedTimed,
        Emptied,
        Flattened,
        Lists,
        OneOr,
        Same,
        SameOrFailed,
        TimedValues,
        WithCounts,
    )
else:
    from pullstream.blueprint.nominal import (
        Collected,
        CollectedTimed,
        Emptied,
        Flattened,
        Lists,
        OneOr,
        Same,
        SameOrFailed,
        TimedValues,
        WithCounts,
    )

__all__ = [
    "Collected",
    "CollectedTimed",
    "Emptied",
    "Flattened",
    "Function",
    "Function2",
    "Gathering",
    "Into",
    "Lists",
    "OneOr",
    "Onward",
    "Same",
    "SameOrFailed",
    "TimedValues",
    "WithCounts",
]
