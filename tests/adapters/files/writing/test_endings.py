"""The writing sinks in every ending, with every demand, in the conformance kit."""

import pytest
import trio

import pullstream as ps
from adapters import files
from pullstream.conformance import conformance
from tests.sampling import amount

from .kit import content, left_behind


@pytest.mark.parametrize(
    "write",
    [
        lambda out: files.write_jsonl(out / "{time}.jsonl", durable=False),
        lambda out: files.write_jsonl(out / "{key}.jsonl.gz", key=lambda value: 0, durable=False),
        lambda out: ps.pipe(
            ps.map(lambda value: (repr(value),)), files.write_parquet(out / "{time}.pq", durable=False)
        ),
    ],
    ids=["jsonl", "grown", "parquet"],
)
def test_conformance(write, tmp_path, monkeypatch):
    """No rule is broken, and no temporary file is left."""

    async def in_no_time(function, *args):
        await trio.lowlevel.checkpoint()
        return function(*args)

    # The kit's time is virtual, and passes immediately while threads work.
    monkeypatch.setattr(trio.to_thread, "run_sync", in_no_time)
    before = left_behind()
    conformance(write(tmp_path), cells=amount(50, 150)).check()
    assert not [name for name in content(tmp_path) if ".pullstream-" in name]
    assert left_behind() == before
