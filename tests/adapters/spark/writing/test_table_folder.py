# ruff: noqa: N802 - the names are Hadoop's
"""Folders that are moved into place in a file system that may refuse: Hadoop's calls, without Java."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from adapters.spark.writing.table_partitions import TableFolder, TableTargetError


class HadoopPath:
    """A path like Hadoop's."""

    files = None

    def __init__(self, first, second=""):
        self.path = Path(str(first)) / str(second)

    def getName(self):
        return self.path.name

    def toString(self):
        return str(self.path)

    __str__ = toString

    def getFileSystem(self, _):
        return self.files


class Files:
    """A file system that refuses to rename some folders to some names."""

    def __init__(self):
        self.refused = set()

    def makeQualified(self, path):
        return path

    def exists(self, path):
        return path.path.exists()

    def mkdirs(self, path):
        path.path.mkdir(parents=True, exist_ok=True)

    def delete(self, path, _):
        shutil.rmtree(path.path, ignore_errors=True)

    def rename(self, source, target):
        if (source.path.parent.name[:4], target.getName()) in self.refused:
            if source.path.parent.name.startswith("new-"):
                # As if a rename copied.
                target.path.mkdir()
                (target.path / "part").write_text("a part")
            return False
        source.path.rename(target.path)
        return True

    def listStatus(self, path):
        return [
            SimpleNamespace(isDirectory=each.is_dir, getPath=lambda each=each: HadoopPath(each))
            for each in sorted(path.path.iterdir())
        ]


@pytest.fixture
def files(monkeypatch):
    opened = Files()
    monkeypatch.setattr(HadoopPath, "files", opened)
    return opened


@pytest.fixture
def folder(files, tmp_path):
    hadoop = SimpleNamespace(fs=SimpleNamespace(Path=HadoopPath))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop)))
    context = SimpleNamespace(_jvm=jvm, _jsc=SimpleNamespace(hadoopConfiguration=lambda: None))
    return TableFolder(SimpleNamespace(sparkContext=context), str(tmp_path))


def write(folder, content):
    """Write three times of a table, and publish them."""
    new = Path(folder.new_folder())
    for time in (1, 2, 3):
        place = new / f"time={time}"
        place.mkdir(parents=True)
        (place / "part").write_text(content)
    try:
        folder.publish(str(new))
    finally:
        folder.discard(str(new))


def found(tmp_path):
    """All files, including hidden ones."""
    return {str(part.relative_to(tmp_path)): part.read_text() for part in tmp_path.rglob("*") if part.is_file()}


def test_folders_are_moved_into_place(folder, tmp_path):
    """They replace existing ones; nothing else is left."""
    write(folder, "old")
    write(folder, "new")
    assert found(tmp_path) == {f"time={time}/part": "new" for time in (1, 2, 3)}
    assert not (tmp_path / ".pullstream").exists()


@pytest.mark.parametrize("before", [True, False])
def test_a_folder_that_cannot_be_moved_leaves_the_existing_one(folder, files, tmp_path, before):
    """It is restored completely and at once; folders before it are in place."""
    if before:
        write(folder, "old")
    files.refused = {("new-", "time=2")}
    with pytest.raises(TableTargetError, match="could not be renamed to .*time=2"):
        write(folder, "new")
    was = {"time=2/part": "old", "time=3/part": "old"} if before else {}
    assert found(tmp_path) == {"time=1/part": "new", **was}
    assert not (tmp_path / ".pullstream").exists()


def test_a_folder_that_cannot_be_restored_is_kept_for_the_next_run(folder, files, tmp_path):
    """It is in the hidden folder, from which `mend` restores it."""
    write(folder, "old")
    files.refused = {("new-", "time=2"), ("old-", "time=2")}
    with pytest.raises(TableTargetError, match="old-.* could not be renamed to .*time=2"):
        write(folder, "new")
    files.refused.clear()
    folder.mend()
    assert found(tmp_path) == {"time=1/part": "new", "time=2/part": "old", "time=3/part": "old"}


def test_written_folders_that_are_gone_are_not_taken_for_published(folder, tmp_path):
    """Another program has begun to write, and has removed what it took for leftovers."""
    new = Path(folder.new_folder())
    (new / "time=1").mkdir(parents=True)
    folder.mend()
    with pytest.raises(TableTargetError, match=r"new-.*, which Spark has written, is gone"):
        folder.publish(str(new))
    assert not found(tmp_path)
