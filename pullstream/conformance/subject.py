"""Subjects of the conformance kit: a module, how to make it, and what to expect of it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from pullstream.blueprint import Blueprint, Site


def _option(said: str, default: Any = False) -> Any:  # noqa: FBT002 - of the field, not of this function
    """Declare a field that a command line may set, with its help."""
    return attrs.field(default=default, kw_only=True, metadata={"help": said})


@attrs.frozen
class Subject:
    """A module under test: a row of `ready.READY`, or made by `conformance(...)` from its arguments.

    `make` is called for every cell, and returns a source, a transformer or a sink. It is called without arguments,
    unless some of these are set:

    - `around`: a function of one value, which it must call with every value (it returns ten times the value, or
      raises);
    - `calls`: an async function of one value, which takes a moment (it returns what `around` returns);
    - `resource`: a context manager to enter when it acquires and to leave when it releases (R10);
    - `inputs`: this many reference sources, for a module that joins several; it then returns a source.

    >>> import pullstream as ps
    >>> Subject("take 2", lambda: ps.take(2))  # doctest: +ELLIPSIS
    Subject(name='take 2', ...)
    >>> Subject("map", ps.map, around=True)  # doctest: +ELLIPSIS
    Subject(name='map', ...)

    Exceptions to what the kit expects of every module:

    - `ordered=False`: values come as they are ready, so only the set of values is compared;
    - `batches=True`: its output depends on batches, and so on the limit;
    - `timing=True`: its output depends on the clock, and so on when values arrive;
    - `flushes=True`: it keeps values back and emits them at the end; a failure loses them;
    - `grows=True`: it asks for more than it was asked for, or keeps asking ahead;
    - `absorbs=True`: it handles some failures (of its upstream, of its callable) itself, or its purpose is to fail;
    - `reopens=True`: it opens its sources or its resource more than once;
    - `keeps=True`: it keeps times from completing for longer than their values arrive, as a window does;
    - `silent=True`: it emits no values.

    What the kit expects only on request:

    - `per_time=True`: its output at a time depends only on the values at that time, and is emitted when it is complete.

    The input is the numbers 0 to 5, unordered, or in order with `ascending=True`; for a second source, 100 to 105. In
    some cells a number occurs more than once, unless `differ=True` requires all to differ. If a module needs other
    values, `values` is a function from a number to a value: `values=lambda n: {"id": n, "name": f"name {n}"}`. Its
    results should be equal (`==`) exactly where the numbers are.
    """

    name: str
    make: Callable[..., Blueprint] = attrs.field(repr=False)
    around: bool = _option("it takes a function of one value, and calls it with every value")
    calls: bool = _option("it takes an async function of one value")
    resource: bool = _option("it takes a context manager, enters it at the first ask and leaves it in every ending")
    inputs: int = _option("the number of sources it takes", 0)
    ordered: bool = _option("values come in order (--no-ordered: as they are ready)", default=True)
    batches: bool = _option("its output depends on batches")
    timing: bool = _option("its output depends on the clock")
    flushes: bool = _option("it keeps values back and emits them at the end")
    grows: bool = _option("it asks for more than it was asked for")
    absorbs: bool = _option("it handles failures itself, or its purpose is to fail")
    reopens: bool = _option("it opens its sources or its resource more than once")
    keeps: bool = _option("it keeps times open, as a window does")
    silent: bool = _option("it emits no values")
    per_time: bool = _option("its output at a time depends only on the values at that time")
    ascending: bool = _option("its input must be in order")
    differ: bool = _option("its input values must all differ")
    values: Callable[[int], object] | None = attrs.field(
        default=None,
        kw_only=True,
        repr=False,
        metadata={"help": "the input values, as a function of a number: 'lambda n: {\"id\": n}'"},
    )
    site: Site | None = attrs.field(default=None, kw_only=True, repr=False)
    """The line to report as composing the module, because `make` composes it inside the kit."""


EXPECTATIONS: Final[Mapping[str, str]] = {
    field.name: field.metadata["help"] for field in attrs.fields(Subject) if field.metadata
}
"""The fields that a command line may set, each with its help."""
