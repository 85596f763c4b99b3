"""Explanations of a record of the output: the records of the input that it depends on."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from pullstream.incremental.module import ONE, Dataflow, Program
from pullstream.incremental.trace import Order

Row = tuple[str, Hashable]
"""A record of an input, with its name."""


def explain(
    program: Program, inputs: Mapping[str, Iterable[Hashable]], record: Hashable, *, of: str = ONE
) -> dict[str, list[Any]]:
    """Find a minimal set of input records that is enough for a record of the output.

    If there are several such sets, the result is one of them. `inputs` has the records of each input by the name of the
    program's parameter; repeat a record that is present several times. `of` names the output if there are several.

    >>> from pullstream.incremental import explain
    >>> def two_steps(edges):
    ...     return edges.map(lambda edge: edge[::-1]).join(edges, lambda _, a, c: (a, c))
    >>> explain(two_steps, {"edges": [("a", "b"), ("b", "c"), ("x", "b"), ("c", "d")]}, ("a", "c"))
    {'edges': [('a', 'b'), ('b', 'c')]}

    From these records alone, the program gives the record. The result does not name records that must be absent. If the
    program depends on absence (`antijoin`, `negate`, `min`), leaving out some records may make it possible to leave
    out others:

    >>> def unpaid(orders, payments):
    ...     return orders.antijoin(payments)
    >>> explain(unpaid, {"orders": [(7, "tea"), (8, "rye")], "payments": [8]}, (7, "tea"))
    {'orders': [(7, 'tea')], 'payments': []}

    The program is run on the input. Then parts of the input are removed, large ones first, and stay removed if the
    record is still in the output. Changes are incremental, so this costs a few times as much as one run. A part is also
    kept if the program fails without it; each such failure costs another run.

    Raises: LookupError: the record is not in the output, or the program has no input or output with a given name.
    """
    trial = _Attempt(program, record, of)
    if unknown := [name for name in inputs if name not in trial.flow.inputs]:
        raise LookupError(f"the program has no input {unknown[0]!r}: it takes {', '.join(trial.flow.inputs)}")
    if of not in trial.flow.outputs:
        has = "one without a name" if trial.flow.outputs == [ONE] else ", ".join(trial.flow.outputs)
        raise LookupError(f"the program has no output {of!r}: it gives {has}; choose one with of=")
    left: list[Row] = [(name, row) for name, rows in inputs.items() for row in rows]
    if not trial.change(left, 1):
        raise LookupError(f"{record!r} is not in the program's output for this input")
    size = (len(left) + 1) // 2
    while size:
        kept: list[Row] = []
        for start in range(0, len(left), size):
            part = left[start : start + size]
            if not trial.without(part, but=kept + left[start:]):
                kept += part
        # A record that was needed together with a removed one may no longer be needed, so try single records again.
        size = size if size == 1 and len(kept) < len(left) else size // 2
        left = kept
    return {name: [row for side, row in left if side == name] for name in inputs}


class _Attempt:
    """A run of the program on parts of its input, to see whether a record is in the output."""

    def __init__(self, program: Program, record: Hashable, of: str) -> None:
        self._program = program
        self._record = record
        self._of = of
        self._begin()

    def _begin(self) -> None:
        self.flow = Dataflow(self._program, Order())
        self._there: Counter[Any] = Counter()

    def change(self, rows: Sequence[Row], diff: int) -> bool:
        """Add or remove rows, and return whether the record is in the output."""
        for name, row in rows:
            self.flow.take(name, (), [(row, diff)])
        for output, changed, count in self.flow.run(()):
            if output == self._of:
                self._there[changed] += count
        return self._there[self._record] > 0

    def without(self, part: Sequence[Row], *, but: Sequence[Row]) -> bool:
        """Remove a part if the record stays in the output, and return whether it does. `but` is all remaining input."""
        try:
            if self.change(part, -1):
                return True
        except Exception:  # noqa: BLE001 - a user's functions may raise anything
            # A part without which the program fails is needed. The failed run cannot be used further.
            self._begin()
            self.change(but, 1)
        else:
            self.change(part, 1)
        return False
