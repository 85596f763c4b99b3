"""Put back the project's past faults, one at a time, and check that a simulation finds each.

    python -m tests.pullstream.shake.faults                     # all, each with up to 1,000 seeds
    python -m tests.pullstream.shake.faults not-cut-back -n 1   # some of them
    python -m tests.pullstream.shake.faults --list

`faults.toml` lists the faults as changes of today's code, each with the scene that should show it. The exit code
is 1 if a fault was not found, or if one could not be put back.
"""

import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import attrs

from tests import breaks
from tests.breaks import ROOT, Break, Outcome, applied, main, ran
from tests.pullstream.shake.search import WRONG

TABLE = ROOT / "tests/pullstream/shake/faults.toml"


@attrs.frozen
class Fault(Break):
    """A fault, how it is put back, the scene that shows it, the seed that found it last, and commits about it."""

    tests: Sequence[str] = ()
    scene: str = attrs.field(kw_only=True)
    seed: int | None = attrs.field(default=None, kw_only=True)
    """None: the undisturbed run is wrong, too."""
    commits: Sequence[str] = attrs.field(default=(), kw_only=True)


def load() -> list[Fault]:
    """Read the table; a row without a change of its own uses the one in `tests/breaks.toml`."""
    changes = {
        each.name: {"file": each.file, "find": each.find, "put": each.put, "breaks": each.breaks}
        for each in breaks.load()
    }
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return [Fault(name, **({} if "file" in row else changes[name]), **row) for name, row in rows.items()]


def outcome(fault: Fault, root: Path, limit: float) -> Outcome:
    """Put a fault back in a copy, and look for it there."""
    started = monotonic()
    first = [] if fault.seed is None else [str(fault.seed)]
    with applied(fault, root):
        code, printed = ran(root, ["tests.pullstream.shake.search", fault.scene, *first], limit, {})
    word = "found" if code == WRONG else "MISSED" if code in (0, breaks.TIMED_OUT) else "NOT TRIED"
    return Outcome(fault.name, word, monotonic() - started, "".join(printed.strip().splitlines()[-1:])[:120])


if __name__ == "__main__":
    sys.exit(main("tests.pullstream.shake.faults", "Put back faults.", load(), outcome, limit=600))
