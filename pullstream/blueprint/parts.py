"""The types of a pipe's parts in signatures: modules given to modules, functions, and modules that fit any values.

They are written in two ways. Most type checkers work with the classes, and carry a type variable solved from one
argument of a call into the next, even into a lambda's parameters. mypy does not, so it sees protocols instead: `MYPY`
is true to mypy, whatever its assigned value. pyright, ty and the running program use the second import. pyrefly takes
both as one union and tries it in the order of the names, so `Onward` must sort before `Transformer`.
"""

from typing import TYPE_CHECKING

MYPY = False

if MYPY:
    from pullstream.blueprint.structural import (
        Function as Function,
        Function2 as Function2,
        Gathering as Gathering,
        Into as Into,
        Onward as Onward,
    )
else:
    from pullstream.blueprint.nominal import (
        Function as Function,
        Function2 as Function2,
        Gathering as Gathering,
        Into as Into,
        Onward as Onward,
    )

if TYPE_CHECKING:
    from pullstream.blueprint.structural import (
        Collected as Collected,
        CollectedTimed as CollectedTimed,
        Emptied as Emptied,
        Flattened as Flattened,
        Lists as Lists,
        OneOr as OneOr,
        Same as Same,
        SameOrFailed as SameOrFailed,
        TimedValues as TimedValues,
        WithCounts as WithCounts,
    )
else:
    from pullstream.blueprint.nominal import *  # noqa: F403 - the same names
