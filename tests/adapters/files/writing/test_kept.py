"""A sink's memory of completed times: its result, and nothing more."""

import pytest

import pullstream as ps
from adapters import files


def kept_while(tmp_path, target, times):
    """The maximum size of the modules' memories during a run with a journal and so many times."""
    kept = []

    def look(_):
        memory, notes = running[0]._keeper._memories, 0
        for each in memory.values():
            notes = max(notes, sum(map(len, each.notes._waiting.values())))
            kept.append(len(each) + len(each._touched) + len(each._sealed))
        waiting.append(notes)

    running, waiting = [], []

    async def beside(given):
        running.append(given)

    source = ps.values(range(times), time=lambda n: n)
    pipeline = ps.pipe(source, ps.tap(lambda n: n), files.write_jsonl(tmp_path / target))
    made = ps.run(pipeline, journal=ps.Journal(tmp_path / "journal", version="1"), beside=beside, limit=1)
    look(None)
    return made, max(kept, default=0), waiting[-1]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("target", ["{time}.jsonl", "all.jsonl"])
def test_completed_times_are_only_in_the_journal(tmp_path, target):
    """A later run gets them from there."""
    made, kept, waiting = kept_while(tmp_path, target, 300)
    assert len(made) == (300 if "{" in target else 1)
    assert kept <= 2
    assert waiting == 0
    assert kept_while(tmp_path, target, 300)[0] == made
