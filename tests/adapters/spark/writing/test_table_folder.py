# ruff: noqa: N802 - the names are Hadoop's
"""Folders moved into place in a file system that may refuse: Hadoop's calls, without Java."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from adapters.spark.writing.table_partitions import TableFolder, TableTargetError


class HadoopPath:
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
def opened(files, tmp_path):
    hadoop = SimpleNamespace(fs=SimpleNamespace(Path=HadoopPath))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop)))
    context = SimpleNamespace(_jvm=jvm, _jsc=SimpleNamespace(hadoopConfiguration=lambda: None))

    def make():
        folder = TableFolder(SimpleNamespace(sparkContext=context), str(tmp_path))
        folder.take_over()
        return folder

    return make


@pytest.fixture
def folder(opened):
    return opened()


def write(folder, content, column="time"):
    new = Path(folder.new_folder())
    for time in (1, 2, 3):
        place = new / f"{column}={time}"
        place.mkdir(parents=True)
        (place / "part").write_text(content)
    try:
        folder.publish(str(new))
    finally:
        folder.discard(str(new))


def found(tmp_path):
    return {str(part.relative_to(tmp_path)): part.read_text() for part in tmp_path.rglob("*") if part.is_file()}


def test_folders_are_moved_into_place(folder, tmp_path):
    write(folder, "old")
    write(folder, "new")
    folder.leave()
    assert found(tmp_path) == {f"time={time}/part": "new" for time in (1, 2, 3)}
    assert not (tmp_path / ".pullstream").exists()


def test_a_folder_partitioned_by_another_column_is_left_alone(folder, opened, tmp_path):
    write(folder, "old", "day")
    with pytest.raises(TableTargetError, match="is partitioned by 'day', and Spark cannot read it with"):
        write(opened(), "new")
    assert set(found(tmp_path)) == {f"day={time}/part" for time in (1, 2, 3)}


@pytest.mark.parametrize("before", [True, False])
def test_a_failed_move_leaves_the_existing_folder(folder, files, tmp_path, before):
    """The existing folder is restored at once; folders before it are in place."""
    if before:
        write(folder, "old")
    files.refused = {("new-", "time=2")}
    with pytest.raises(TableTargetError, match="could not be renamed to .*time=2"):
        write(folder, "new")
    was = {"time=2/part": "old", "time=3/part": "old"} if before else {}
    folder.leave()
    assert found(tmp_path) == {"time=1/part": "new", **was}
    assert not (tmp_path / ".pullstream").exists()


def test_a_folder_that_cannot_be_restored_is_kept_for_the_next_run(folder, opened, files, tmp_path):
    write(folder, "old")
    files.refused = {("new-", "time=2"), ("old-", "time=2")}
    with pytest.raises(TableTargetError, match="old-.* could not be renamed to .*time=2"):
        write(folder, "new")
    files.refused.clear()
    folder.leave()
    opened()
    assert found(tmp_path) == {"time=1/part": "new", "time=2/part": "old", "time=3/part": "old"}


def test_removed_folders_do_not_count_as_published(folder, tmp_path):
    """Another program has removed the hidden folder, or only its content."""
    for gone in ("", "new"):
        new = Path(folder.new_folder())
        (new / "time=1").mkdir(parents=True)
        shutil.rmtree(new if gone else new.parent)
        with pytest.raises(TableTargetError, match=r"another program has begun to write to .*, or has removed"):
            folder.publish(str(new))
        folder.take_over()
    assert not found(tmp_path)


def test_a_program_notices_another_one(folder, opened, tmp_path):
    """At any moment, even between two writes or after the other has ended; the other program is not disturbed."""
    write(folder, "one")
    other = opened()
    with pytest.raises(TableTargetError, match="another program has begun to write to"):
        write(folder, "two")
    folder.leave()
    write(other, "three")
    other.leave()
    assert not (tmp_path / ".pullstream").exists()
    with pytest.raises(TableTargetError, match="Let one program at a time write to the table"):
        write(folder, "four")
    assert found(tmp_path) == {f"time={time}/part": "three" for time in (1, 2, 3)}


def test_of_two_programs_only_one_writes(opened, files, monkeypatch, tmp_path):
    """Each may remove leftovers before the other sets its mark; the first to write sees both marks."""
    one = opened()
    with monkeypatch.context() as patched:
        patched.setattr(files, "delete", lambda *_: None)
        other = opened()
    with pytest.raises(TableTargetError, match="another program"):
        write(one, "one")
    one.leave()
    write(other, "other")
    assert found(tmp_path) == {f"time={time}/part": "other" for time in (1, 2, 3)}
