"""A name from the data is one part of a path inside the folder, or is refused with a named error."""

import json
import os
import random

import attrs
import pytest

import pullstream as ps
from adapters import files
from adapters.files.writing.target import Target

from .kit import written

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
    """Write a key with arbitrary text, in any format."""

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
            # Two of them may have one name, which is refused for another reason.
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


def test_two_keys_with_one_name(tmp_path):
    """Names are compared by their bytes."""
    with pytest.raises(files.FileTargetError, match="would share the file"):
        written(["é", "\udcc3\udca9"], files.write_jsonl(tmp_path / "{time}{key}", key=str))


def test_two_keys_with_one_name_in_the_file_system(tmp_path, monkeypatch):
    """If case does not matter, one would replace the other."""
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
