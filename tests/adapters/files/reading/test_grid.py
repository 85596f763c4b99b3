"""Sources of files, ended in every way at every position; moments of virtual time replace threads."""

import pytest
import trio

from adapters import files
from adapters.files.reading.source import FilesSource
from pullstream.conformance import Subject, conformance

KINDS = {
    "text": lambda path: files.read_text(path, block_size=4),
    "bytes": lambda path: files.read_bytes(path, block_size=2),
    "a time each": lambda path: files.read_jsonl(path, block_size=4, time=int),
    "rows": lambda path: files.read_csv(path, block_size=4, as_="tuples"),
    "skipping": lambda path: files.read_text(path, on_error="skip"),
}


@pytest.fixture
def _moments(monkeypatch):
    async def moment(self, function):
        await trio.sleep(0.1)
        return function()

    monkeypatch.setattr(FilesSource, "_thread", moment)


@pytest.mark.usefixtures("_moments")
@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_the_grid(kind, put):
    """No rule is broken, nothing hangs, and every file is closed (which the folder's fixture checks)."""
    path = put("data", "".join(f"{n}\n" for n in range(5)))
    subject = Subject(kind, lambda: KINDS[kind](path))

    assert conformance(subject, cells=60).check().cells.total() > 0
