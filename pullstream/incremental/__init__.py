"""Incremental collections: the output of a program, kept up to date while its inputs change.

A program is a function from collections to collections (`Collection`: `map`, `join`, `reduce`, `count`, `iterate` ...).
`maintain` makes it a module whose values are changes: `(record, diff)`. When a time is complete, the module emits the
program's result for all input so far, minus everything emitted before. This is differential dataflow (McSherry, Murray,
Isaacs, Isard, 2013), built on pullstream's progress tracking.

Read the files in this order. `trace` stores changes, each at its time. `region` decides the order in which the
operators of a program work. `parts` splits changes by key. `operators` has the operators with state, and `ranked` finds
the least and greatest values of large groups. `collection` has the methods. `module` runs them, and `saving` stores
their state in a journal. `changes` converts input and output. `explaining` finds the reason for a record.
"""

from typing import TYPE_CHECKING

from pullstream.late import late

if TYPE_CHECKING:
    from pullstream.incremental.changes import change_of as change_of, integrate as integrate, upserts as upserts
    from pullstream.incremental.collection import Collection as Collection, iterate as iterate
    from pullstream.incremental.errors import DivergenceError as DivergenceError, MultiplicityError as MultiplicityError
    from pullstream.incremental.explaining import explain as explain
    from pullstream.incremental.module import maintain as maintain
else:
    __getattr__, __dir__, __all__ = late(__name__)
