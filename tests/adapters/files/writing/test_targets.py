"""The paths of files: times and keys in names, which stay inside the folder; conflicts, obstacles, and URLs."""

import datetime as dt
import errno
import json
import os
import pickle
import random
import socket
import ssl

import attrs
import fsspec
import pytest

import pullstream as ps
from adapters import files
from adapters.files.writing import sink
from adapters.files.writing.disk import Disk
from adapters.files.writing.refusals import explained
from adapters.files.writing.target import Target
from tests.adapters.files.failing import store

from .kit import content, left_behind, written


def test_times_and_keys_in_a_path(tmp_path):
    days = [dt.date(2020, 1, 2), dt.date(2020, 2, 1)]
    write = files.write_text(
        f"{tmp_path}/{{{{x}}}}/{{time:%Y/%m}}/{{key[0]}}-{{key[1]:02}}.txt", key=lambda text: (text[0], len(text))
    )
    for day in days:
        written(["ab", "b"], write, time=lambda _, day=day: day)
    assert sorted(content(tmp_path)) == [
        "{x}/2020/01/a-02.txt",
        "{x}/2020/01/b-01.txt",
        "{x}/2020/02/a-02.txt",
        "{x}/2020/02/b-01.txt",
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (TimeoutError(), "TimeoutError, so it does not"),
        (OSError(errno.ENOSPC, "No space"), "[Errno 28] No space, so it does not; free some space"),
        (ssl.SSLError(1, "certificate verify failed"), "certificate verify failed, so it does not"),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), "unknown, so it does not"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_advice_fits_the_error(error, message):
    """An exception without text is named by its type; advice applies only to the system's own error numbers."""
    with pytest.raises(OSError, match="so it does not") as caught, explained("it does not"):
        raise error
    assert caught.value is error
    assert message in str(error)
    assert ("; " in message) == ("; " in str(error))


EXISTS = "File exists, so {}; write to another target, or move the existing"
LONG = "File name too long, so {}; use a target, times and keys with shorter names"


@pytest.mark.parametrize(
    ("target", "manifest", "kind", "message"),
    [
        ("file/{time}.txt", None, FileExistsError, EXISTS),
        ("file/in/{time}.txt", None, FileExistsError, EXISTS),
        ("x" * 300 + "/{time}.txt", None, OSError, LONG),
        # The error names the manifest, not the target.
        ("{time}", "file/manifest", FileExistsError, "File exists, so {}, 'file/manifest'; write to another target"),
    ],
)
def test_a_file_system_error_names_the_target(target, manifest, kind, message, tmp_path, monkeypatch):  # noqa: PLR0917
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("taken")
    with pytest.raises(kind) as caught:
        written(["a"], files.write_text(target, manifest=manifest))
    what = "write its manifest" if manifest else f"write to {target!r}"
    assert caught.value.strerror.startswith(message.format(f"write_text cannot {what}"))
    assert caught.value.strerror in str(caught.value)
    assert any("write_text" in note for note in caught.value.__notes__)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


DENIED = PermissionError(errno.EACCES, "Permission denied", "there")
NO_PLACE = r"Permission denied, so write_text cannot write to '.*{time}'; write to a place where.*: 'there'"


@pytest.mark.parametrize(
    ("step", "error", "manifest", "message"),
    [
        ("append", DENIED, None, NO_PLACE),
        ("rename", DENIED, None, NO_PLACE),
        ("rename", OSError(errno.EXDEV, "Invalid cross-device link"), None, "on another disk"),
        # The file belongs to another user, in a folder that everyone may write to.
        ("rename", PermissionError(errno.EPERM, "Not permitted", "there"), "m", "write_text cannot write its manifest"),
    ],
)
def test_late_file_system_errors(step, error, manifest, message, tmp_path, monkeypatch):  # noqa: PLR0917
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m").touch()

    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(Disk, step, refuse)
    with pytest.raises((OSError, files.FileTargetError), match=message):
        written("a", files.write_text(tmp_path / "out" / "{time}", manifest=manifest))
    assert sorted(content(tmp_path)) == ["m"]


@pytest.mark.parametrize("target", ["../{time}.txt", "{{x}}/../{time}", "out/{time}../a..", "out/{time}..{key}"])
def test_harmless_dots(target, tmp_path, monkeypatch):
    """Dots before the fields and within names are intended."""
    (tmp_path / "in").mkdir()
    monkeypatch.chdir(tmp_path / "in")
    (path,) = written(["a"], files.write_text(target, key=len if "key" in target else None))
    assert path.read_text() == "a\n"


def test_a_missing_package_for_a_url(monkeypatch):
    def missing(protocol):
        raise ImportError(f"Install {protocol}fs to access {protocol.upper()}")

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    for module in (files.write_text, files.read_text):
        with pytest.raises(ps.CompositionError, match="Install s3fs to access S3"):
            module("s3://bucket/{time}")


def test_many_keys(tmp_path, monkeypatch):
    most = []
    real = sink.FilesWriter.work

    def work(self):
        most.append(len(left_behind()[0]))
        real(self)

    monkeypatch.setattr(sink.FilesWriter, "work", work)
    monkeypatch.setattr(sink, "LOOSE", 600)
    monkeypatch.setattr(sink, "MEMORY", 50_000)
    values = [{"k": n % 300, "n": n} for n in range(3000)]
    write = files.write_parquet(tmp_path / "{time}" / "{key}.parquet", key="k", open_files=4, durable=False)
    assert len(written(values, write, limit=100)) == 300
    assert len(most) >= 3
    assert max(most) - min(most) < 5


@pytest.mark.parametrize(
    ("template", "root"),
    [
        ("{time}", "."),
        ("/{time}", "/"),
        ("a/b{time}/{key}", "a"),
        ("/a/all.txt", "/a"),
        ("all.txt", "."),
        ("{{a}}/{time}", "{a}"),
        ("s3://bucket/a-{time}", "s3://bucket"),
        ("memory://{time}", "memory://"),
    ],
)
def test_the_folder_of_a_target(template, root):
    assert Target.of("write", template).root == root


@pytest.mark.parametrize("name", [name for name in files.__all__ if name.startswith("write_")])
def test_help_names_the_options(name):
    """All writing sinks share a class of options; their documentation has the defaults."""
    assert "WriteOptions`" in getattr(files, name).__doc__
    assert all(f"`{option}`" in files.WriteOptions.__doc__ for option in files.WriteOptions.__annotations__)


assert store


def test_long_names_in_a_store():
    """The store sets the limit: S3 allows longer names than file systems."""
    name = "x" * 300
    assert written([name], files.write_text("memory://long/{time}{key}", key=str)) == [f"memory://long/0{name}"]


def test_memory(store):
    """fsspec's own store; a run removes the leftovers of a dead run."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    target = "memory://out/{time}.txt"
    assert written(["a"], files.write_text(target)) == ["memory://out/0.txt"]
    assert fs.cat_file("/out/0.txt") == b"a\n"
    assert fs.find("/") == ["/out/0.txt"]
    with pytest.raises(files.FileTargetError, match="is a folder"):
        fs.makedirs("/out/1.txt")
        written(["a"], files.write_text(target), time=lambda _: 1)
    fs.store.clear()


def test_file_urls_are_local_paths(tmp_path):
    (path,) = written(["a"], files.write_text(f"file://{tmp_path}/{{time}}.txt"))
    assert path == tmp_path / "0.txt"


PIECES = [
    *"abcXYZ019 -=%{}[]()!~*?'\"<>|:;\\", *["/", "//", "\\", "\0", ".", "..", "...", "../", "/..", "./", "~", "_", "-"],
    "\n", "\r", "\t", "\x1b[31m", "\x7f", "\x01", "\x85", "\u2028", "é", "e\u0301", "ß", "日本", "🙂", "\u202e",
    "\ufeff", "\udcff", "\udcc3\udca9", "\ud800", "\udfff", "con", "NUL", "COM1", "aux.txt", ".part", ".tmp",
    ".pullstream-", "pullstream.lock", "1.part", "manifest", "x" * 90, "é" * 60, "None", "0", "lock",
]  # fmt: skip


def odd_texts(count, seed=0):
    chance = random.Random(seed)
    return ["".join(chance.choices(PIECES, k=chance.choice([0, 1, 1, 2, 2, 3, 4, 6]))) for _ in range(count)]


@attrs.frozen
class Odd:
    """A key that is written as arbitrary text, in any format."""

    name: str

    def __format__(self, spec):
        return self.name

    def __str__(self):
        return self.name

    def __getitem__(self, _):
        return self.name


FIELDS = {
    "{time}/{key}": str,
    "{key}/x.jsonl": str,
    "{time}/day={key}.jsonl": str,
    "{time}-{key}-{key}": str,
    "{time}/{key!r}": str,
    "{time}/{key!a:_>4}": str,
    "{time}/{key:>12}.jsonl": str,
    "{time}/{key[0]}.jsonl": Odd,
    "{key.name}/{time}": Odd,
    "{time}/{key:%Y/%m}.jsonl": Odd,
    "{time}/{key:a/b/c}": Odd,
    "{time}.{key}/{key}": Odd,
}


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("count", [120, pytest.param(10_000, marks=pytest.mark.slow)])
def test_any_key(field, count, tmp_path):
    out = tmp_path / "a" / "out"
    target = Target.of("write_jsonl", f"{out}/{field}")
    keys: dict[bytes, str] = {}
    refused = 0
    for text in dict.fromkeys(odd_texts(count)):
        key = FIELDS[field](text)
        try:
            path = target.place({"time": 0, "key": key})
        except files.FileTargetError as exc:
            assert repr(key) in str(exc)  # noqa: PT017 - many are not refused
            refused += 1
        else:
            # Two keys may have the same name, which is refused for another reason.
            keys.setdefault(os.fsencode(path), text)
    assert refused > count // 10 or "!" in field
    assert len(keys) > count // 10
    texts = list(keys.values())
    write = files.write_jsonl(
        f"{out}/{field}", key=lambda n: FIELDS[field](texts[n]), manifest=tmp_path / "m", durable=False
    )
    paths = written([*range(len(texts))] * 2, write)
    assert sorted(map(os.fsencode, paths)) == sorted(keys)
    names = [os.path.join(inside, name) for inside, _, some in os.walk(out) for name in some]  # noqa: PTH118 - as text
    assert sorted(map(os.fsencode, names)) == sorted(keys)
    for name in names:
        with open(name) as file:  # noqa: PTH123 - as text
            numbers = [json.loads(line) for line in file]
        assert [texts[number] for number in numbers] == [keys[os.fsencode(name)]] * 2
    listed = [json.loads(line)["path"] for line in (tmp_path / "m").read_bytes().split(b"\n")[:-1]]
    assert sorted(map(os.fsencode, listed)) == sorted(keys)
    assert [path.name for path in tmp_path.iterdir() if path.name != "m"] == ["a"]
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("text", [".hidden", "_temporary", "a.part", ".pullstream-0b81c7ba2464", "x~"])
def test_a_key_that_a_reader_would_skip(text, tmp_path):
    """Readers of a folder skip such names; with a prefix, they are normal names."""
    with pytest.raises(files.FileTargetError, match="readers of the folder would skip it; put text before"):
        written([text], files.write_text(tmp_path / "{time}" / "{key}", key=str))
    written([text], files.write_text(tmp_path / "{time}" / "k={key}.txt", key=str))
    assert ps.run(ps.pipe(files.read_text(tmp_path), ps.collect())) == [text]
    # In a target, such a prefix is intended.
    written([text], files.write_text(tmp_path / "_aside" / "{time}" / ".{key}.part", key=str))


def test_two_keys_with_the_same_file_name(tmp_path, monkeypatch):
    """If names ignore case, one file would replace the other."""
    monkeypatch.setattr("adapters.files.writing.staging.LOCK", "PULLSTREAM.LOCK")
    for other in ("A", "É", "e\u0301"):
        with pytest.raises(files.FileTargetError, match="would share the file"):
            written(["a", "é", other], files.write_jsonl(tmp_path / "{time}{key}", key=str))
    monkeypatch.undo()
    assert len(written(["a", "A"], files.write_jsonl(tmp_path / "{time}{key}", key=str))) == 2


def test_a_name_that_is_not_utf_8_with_a_journal(tmp_path):
    source = ps.values([1, 2], time=lambda n: n)
    write = files.write_jsonl(f"{tmp_path}/{{time}}{{key}}", key=lambda _: "\udcff", manifest=tmp_path / "m")
    for _ in range(2):
        ps.run(ps.pipe(source, write), journal=tmp_path / "j")
        listed = [json.loads(line)["path"] for line in (tmp_path / "m").read_text().splitlines()]
        assert listed == [f"{tmp_path}/1\udcff", f"{tmp_path}/2\udcff"]
        assert all(map(os.path.exists, listed))
