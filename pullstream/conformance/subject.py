"""Subjects of the conformance kit: a module, how to make it, and what may be expected of it."""

from collections.abc import Callable

import attrs

from pullstream.blueprint import Blueprint, Site


@attrs.frozen
class Subject:
    """A module under test. A row of `ready.READY` is one; `conformance(...)` makes one of what it is given.

    `make` is called anew for every cell, and gives a source, a transformer or a sink. What it is called with:

    - nothing, unless one of these is set;
    - `around`: a function of one value, which it must call with every value (it gives ten times the value, or raises);
    - `calls`: an async function of one value, which takes a moment (it gives what `around` gives);
    - `resource`: a context manager to enter when it acquires and to leave when it releases (R10);
    - `inputs`: so many reference sources, for a module that joins several; it then gives a source.

    >>> import pullstream as ps
    >>> Subject("take 2", lambda: ps.take(2))  # doctest: +ELLIPSIS
    Subject(name='take 2', ...)
    >>> Subject("map", ps.map, around=True)  # doctest: +ELLIPSIS
    Subject(name='map', ...)

    What may not be expected of everybody is said by name:

    - `ordered=False`: values come as they are ready, so only which values come is compared;
    - `batches=True`: it looks at batches, so what comes depends on the limit;
    - `timing=True`: it looks at the clock, so what comes depends on when values arrive;
    - `flushes=True`: it keeps values back, and gives them at the end; a failure loses them;
    - `grows=True`: it asks for more than it was asked for, or keeps on asking ahead;
    - `absorbs=True`: it deals with failures itself (of its upstream, of its callable), wholly or in part, or is there
      to fail;
    - `endless=True`: it does not end by itself;
    - `reopens=True`: it opens its sources, or its resource, more than once;
    - `keeps=True`: it keeps times from completing for longer than their values come, as a window does;
    - `silent=True`: it gives no values.

    And what may be expected of few:

    - `per_time=True`: what it gives at a time comes of the values of that time alone, when it is complete.

    What goes in are the numbers 0 to 5, in no order, with `ascending=True` in order; of a second source 100 to 105. In
    some cells a number comes more than once, unless `differ=True` says that all have to differ. Where a module wants
    other values, `values` is a function from such a number to the value: `values=lambda n: {"id": n, "name": f"name
    {n}"}`. They should differ where the numbers do, and be equal, by `==`, where those are.
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
    """The line that stands for the one that composed the module, which `make` does inside the kit."""
