"""Incremental collections: what a program makes of its inputs, kept up to date while these change.

A program is a function from collections to collections (`Collection`: `map`, `join`, `reduce`, `count`, `iterate` ...).
`maintain` makes a module of it, whose values are changes: `(record, diff)`. What it gives for a time, when that is
complete, is what the program would give for all of its input so far, less what it gave before. This is differential
dataflow (McSherry, Murray, Isaacs, Isard, 2013), on the progress tracking that is here anyway.

To read it: `trace` keeps changes, each at its time; `region` says in which order the operators of a program work;
`parts` takes changes apart by key; `operators` are those that keep something, and `ranked` finds the least and greatest
of many; `collection` has the verbs; `program` and `module` put them to work, and `saving` is for journals;
`changes` and `feeds` are for what goes in and comes out, and `explaining` says why a record is there.
"""

from pullstream.incremental.changes import integrate, upserts
from pullstream.incremental.collection import Collection, iterate
from pullstream.incremental.errors import DivergenceError, MultiplicityError
from pullstream.incremental.explaining import explain
from pullstream.incremental.feeds import change_of
from pullstream.incremental.module import maintain

__all__ = [
    "Collection",
    "DivergenceError",
    "MultiplicityError",
    "change_of",
    "explain",
    "integrate",
    "iterate",
    "maintain",
    "upserts",
]


def __dir__() -> list[str]:
    return __all__
