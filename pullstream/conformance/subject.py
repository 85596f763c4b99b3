"""Subjects of the conformance kit: a module, how to make it, and what to expect of it."""

from collections.abc import Callable

import attrs

from pullstream.blueprint import Blueprint, Site


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
    - `endless=True`: it does not end by itself;
    - `reopens=True`: it opens its sources or its resource more than once;
    - `keeps=True`: it keeps times from completing for longer than their values arrive, as a window does;
    - `silent=True`: it emits no values.

    What the kit expects only on request:

    - `per_time=True`: its output at a time depends only on the values at that time, and comes when that is complete.

    The input is the numbers 0 to 5, unordered, or in order with `ascending=True`; for a second source, 100 to 105. In
    some cells a number comes more than once, unless `differ=True` requires all to differ. If a module needs other
    values, `values` is a function from a number to a value: `values=lambda n: {"id": n, "name": f"name {n}"}`. Its
    results should be equal (`==`) exactly where the numbers are.
    """

    name: str
    make: Callable[..., Blueprint] = attrs.field(repr=False)
    around: bool = attrs.field(default=False, kw_only=True)
    calls: bool = attrs.field(default=False, kw_only=True)
    resource: bool = attrs.field(default=False, kw_only=True)
    inputs: int = attrs.field(default=0, kw_only=True)
    ordered: bool = attrs.field(default=True, kw_only=True)
    batches: bool = attrs.field(default=False, kw_only=True)
    timing: bool = attrs.field(default=False, kw_only=True)
    flushes: bool = attrs.field(default=False, kw_only=True)
    grows: bool = attrs.field(default=False, kw_only=True)
    absorbs: bool = attrs.field(default=False, kw_only=True)
    reopens: bool = attrs.field(default=False, kw_only=True)
    endless: bool = attrs.field(default=False, kw_only=True)
    keeps: bool = attrs.field(default=False, kw_only=True)
    silent: bool = attrs.field(default=False, kw_only=True)
    per_time: bool = attrs.field(default=False, kw_only=True)
    ascending: bool = attrs.field(default=False, kw_only=True)
    differ: bool = attrs.field(default=False, kw_only=True)
    values: Callable[[int], object] | None = attrs.field(default=None, kw_only=True, repr=False)
    site: Site | None = attrs.field(default=None, kw_only=True, repr=False)
    """The line to name as the one that composed the module, because `make` composes it inside the kit."""
