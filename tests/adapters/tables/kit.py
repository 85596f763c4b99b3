"""The kit kills `write_rows` at its steps: `-m tests.adapters.tables.kit KIND TARGET MODE NUMBER` reports how."""

import sys
from pathlib import Path
from types import SimpleNamespace

from pullstream import tables
from pullstream.conformance import kills
from tests.adapters.tables.conftest import ServerBase, base_of
from tests.adapters.tables.helpers import modes

MODES = modes("n")


def judged(base, mode, number):
    """Check `write_rows`; each folder of the kit has its own table."""

    def of(folder):
        return "t" + folder.parent.name

    def sink(folder):
        return tables.write_rows(base.target, base.name(of(folder)), **MODES[mode])

    def read(folder):
        if not base.has(of(folder)):
            return {}
        found = {}
        for (n,) in base.query(f'SELECT n FROM "{of(folder)}" ORDER BY n'):
            found.setdefault(n // 3, []).append(n)
        return found

    return kills(sink, read, values=lambda n: {"n": n}, number=number).check()


if __name__ == "__main__":
    _, kind, target, mode, number = sys.argv
    if kind == "postgresql":
        base = ServerBase(SimpleNamespace(url=target))
    else:
        base = base_of(kind, Path(target.partition(":///")[2] or target).parent)
    print(judged(base, mode, int(number)))
    base.drop()
