"""The reason why a record is there: records of the input that it stands on."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from pullstream.incremental.program import ONE, Dataflow, Program
from pullstream.incremental.trace import RoundOrder

Row = tuple[str, Hashable]
"""A record of an input, with its name."""


def explain(
    program: Program, inputs: Mapping[str, Iterable[Hashable]], record: Hashable, *, of: str = ONE
) -> dict[str, list[Any]]:
    """Records of the input that are enough for a record of the output, and of which none can be left out.

    Where several such sets are enough, one of them. `inputs` has the records of each input by the name of the program's
    parameter, and a record several times if it is there so often; `of` names the output, where there are several.

    >>> from pullstream.incremental import explain
    >>> def two_steps(edges):
    ...     return edges.map(lambda edge: edge[::-1]).join(edges, lambda _, a, c: (a, c))
    >>> explain(two_steps, {"edges": [("a", "b"), ("b", "c"), ("x", "b"), ("c", "d")]}, ("a", "c"))
    {'edges': [('a', 'b'), ('b', 'c')]}

    They are enough by themselves: of them alone, the program gives the record. What has to be missing for that is not
    named. A program that asks for it (`antijoin`, `negate`, the least of what there is) may do without some that are
    there by leaving out others, too:

    >>> def unpaid(orders, payments):
    ...     return orders.antijoin(payments)
    >>> explain(unpaid, {"orders": [(7, "tea"), (8, "rye")], "payments": [8]}, (7, "tea"))
    {'orders': [(7, 'tea')], 'payments': []}

    The program is run on the input, and then has parts of it taken away, larger ones first, which stay away while the
    record stays there. As a change costs what changes, that is some times the cost of running it. Where it fails
    without a part, as one that takes away what came in the part, that part is needed; each such costs another run.

    Raises:
        LookupError: the record is not there at all; the program has no input, or no output, of a name.
    """
    trial = _Attempt(program, record, of)
    if unknown := [name for name in inputs if name not in trial.flow.inputs]:
        raise LookupError(f"the program has no input {unknown[0]!r}: it takes {', '.join(trial.flow.inputs)}")
    if of not in trial.flow.outputs:
        has = "one that has no name" if trial.flow.outputs == [ONE] else ", ".join(trial.flow.outputs)
        raise LookupError(f"the program has no output {of!r}: it gives {has}; of= names it")
    left: list[Row] = [(name, row) for name, rows in inputs.items() for row in rows]
    if not trial.change(left, 1):
        raise LookupError(f"{record!r} does not come of this input")
    size = (len(left) + 1) // 2
    while size:
        kept: list[Row] = []
        for start in range(0, len(left), size):
            part = left[start : start + size]
            if not trial.without(part, but=kept + left[start:]):
                kept += part
        # What was needed beside something that has gone since may not be needed any more.
        size = size if size == 1 and len(kept) < len(left) else size // 2
        left = kept
    return {name: [row for side, row in left if side == name] for name in inputs}


class _Attempt:
    """A program at work on parts of its input, of which one wants to know whether a record comes of them."""

    def __init__(self, program: Program, record: Hashable, of: str) -> None:
        self._program = program
        self._record = record
        self._of = of
        self._begin()

    def _begin(self) -> None:
        self.flow = Dataflow(self._program, RoundOrder())
        self._there: Counter[Any] = Counter()

    def change(self, rows: Sequence[Row], diff: int) -> bool:
        """Add rows or take them away, and say whether the record is there."""
        for name, row in rows:
            self.flow.take(name, (), [(row, diff)])
        for output, changed, count in self.flow.run(()):
            if output == self._of:
                self._there[changed] += count
        return self._there[self._record] > 0

    def without(self, part: Sequence[Row], *, but: Sequence[Row]) -> bool:
        """Take a part away, and leave it away if the record is there all the same; `but` is all that is there."""
        try:
            if self.change(part, -1):
                return True
        except Exception:  # noqa: BLE001 - a user's functions may raise anything
            # Whatever a program or its functions cannot do without, they need. What was under way is of no use then.
            self._begin()
            self.change(but, 1)
        else:
            self.change(part, 1)
        return False
