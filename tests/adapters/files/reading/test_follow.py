"""follow=True: new files become new times, only complete ones, in a deterministic order. Real files, so real time."""

import os

import pytest
import trio

import pullstream as ps
from adapters import files
from tests.programs import until

QUICK = {"follow": True, "every": 0.01}


class Followed:
    def __init__(self, source, **options):
        self.got = []
        self.pipeline = ps.pipe(source, ps.sink(self.take)())
        self.options = options

    async def take(self, upstream, ctx):
        async for batch in ctx.batches(upstream):
            self.got += [(batch.time, value) for value in batch.values]

    def open(self):
        return self.pipeline.open(check=True, **self.options)


@pytest.fixture
def following(folder):
    (folder / "in").mkdir()
    return folder / "in"


def rename_into(following, name, text):
    part = following.parent / f"{name}.part"
    part.write_text(text)
    part.rename(following / name)


async def test_new_files_become_new_times(following):
    rename_into(following, "b", "2\n3\n")
    rename_into(following, "a", "1\n")
    run = Followed(files.read_text(following, **QUICK))
    async with run.open() as running:
        await running.progress.completed(1)
        assert run.got == [(0, "1"), (1, "2"), (1, "3")]
        rename_into(following, "0", "4\n")
        await running.progress.completed(2)
        assert run.got[3:] == [(2, "4")]
        rename_into(following, "empty", "")
        await running.progress.completed(3)
        await running.finish()
        await running.result()
    assert len(run.got) == 4


async def test_a_file_counts_when_it_no_longer_changes(following):
    run = Followed(files.read_text(following, follow=True, every=0.05))
    async with run.open() as running:
        with (following / "slow").open("w") as file:
            for _ in range(10):
                file.write("x\n")
                file.flush()
                await trio.sleep(0.02)
                assert run.got == []
        for name in (".hidden", "x.part", "x.tmp", "_temporary/x"):
            (following / name).parent.mkdir(exist_ok=True)
            (following / name).write_text("no\n")
        await running.progress.completed(0)
        assert run.got == [(0, "x")] * 10
        (following / "x.part").rename(following / "y")
        await running.progress.completed(1)
        assert run.got[10:] == [(1, "no")]
        await running.abort()


async def test_a_file_with_an_earlier_time(following):
    rename_into(following, "2.log", "b\n")
    run = Followed(files.read_text(following, time=files.name_time("[0-9](?=[.]log)", int), **QUICK))
    with pytest.raises(ps.errors.CapabilityError, match=r"1\.log: goes back in time, to 1 after 2.*map_time"):
        async with run.open() as running:
            await running.progress.completed(1)
            rename_into(following, "1.log", "a\n")
            await running.result()
    assert run.got == [(2, "b")]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: rename_into(path.parent, path.name, "x\n"), r"had 4 bytes when .* complete, and has 2 now"),
        (
            lambda path: rename_into(path.parent, path.name, "x\n" * 3),
            r"had 4 bytes .* has 6 now.* grows, write a source",
        ),
        (lambda path: os.utime(path, (1, 1)), r"was written again after it was found complete"),
    ],
)
async def test_a_followed_file_that_shrinks_or_changes(change, told, following):
    rename_into(following, "a", "x\nx\n")
    run = Followed(files.read_text(following, **QUICK))
    with pytest.raises(files.FileChangedError, match=told):
        async with run.open() as running:
            await running.progress.completed(0)
            change(following / "a")
            await running.result()
    assert run.got == [(0, "x")] * 2


async def test_files_that_were_read_may_be_deleted(following):
    run = Followed(files.read_text(following, **QUICK))
    async with run.open() as running:
        for number in range(3):
            rename_into(following, "same", f"{number}\n")
            await running.progress.completed(2 * number)
            (following / "same").unlink()
            # When this one is complete, the folder has been listed without the other.
            rename_into(following, f"empty-{number}", "")
            await running.progress.completed(2 * number + 1)
        await running.abort()
    assert run.got == [(0, "0"), (2, "1"), (4, "2")]


@pytest.mark.parametrize("path", ["later", "later/*.log", "later/a.log"])
async def test_missing_paths_are_waited_for(path, folder):
    run = Followed(files.read_text(folder / path, **QUICK))
    async with run.open() as running:
        told = "waiting for new ones" if "*" in path else f"waiting for {folder / path}, which does not exist"
        await until(lambda: running.counters()[0].status == f"0 files read, {told}")
        (folder / "later").mkdir()
        rename_into(folder / "later", "a.log", "1\n")
        await running.progress.completed(0)
        await running.finish()
    assert run.got == [(0, "1")]
