"""The reason why a record is there: records of the input that it stands on."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
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

    The program is run on the input, and then has parts of it taken away, larger ones first, which stay away while the
    record stays there. As a change costs what changes, that is some times the cost of running it.

    Raises:
        LookupError: the record is not there at all; the program has no input, or no output, of a name.
    """
    flow = Dataflow(program, RoundOrder())
    if unknown := [name for name in inputs if name not in flow.inputs]:
        raise LookupError(f"the program has no input {unknown[0]!r}: it takes {', '.join(flow.inputs)}")
    if of not in flow.outputs:
        has = "one that has no name" if flow.outputs == [ONE] else ", ".join(flow.outputs)
        raise LookupError(f"the program has no output {of!r}: it gives {has}; of= names it")
    there: Counter[Any] = Counter()

    def holds(rows: Iterable[Row], diff: int) -> bool:
        for name, row in rows:
            flow.take(name, (), [(row, diff)])
        for output, changed, count in flow.run(()):
            if output == of:
                there[changed] += count
        return there[record] > 0

    left: list[Row] = [(name, row) for name, rows in inputs.items() for row in rows]
    if not holds(left, 1):
        raise LookupError(f"{record!r} does not come of this input")
    size = (len(left) + 1) // 2
    while size:
        kept: list[Row] = []
        for start in range(0, len(left), size):
            part = left[start : start + size]
            if not holds(part, -1):
                holds(part, 1)
                kept += part
        # What was needed beside something that has gone since may not be needed any more.
        size = size if size == 1 and len(kept) < len(left) else size // 2
        left = kept
    return {name: [row for side, row in left if side == name] for name in inputs}
