"""The journal's file: what is damaged is refused, what is cut short is taken back, and whose it is counts."""

import os
import pickle
import sqlite3
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import pullstream as ps
from pullstream.journal import log, store
from pullstream.journal.log import HEADER, JournalLog
from pullstream.journal.store import JournalContents, JournalStore, Record, SinkState

FRAME = 20
DIGEST = 32


# ---- records

ONE = Record(
    {0: SinkState(b"a time")}, {1: {b"n": b"1"}}, {1: {b"file": b"0"}}, {"pipeline": b"this one"}, {2: [b"noted"]}
)
TWO = Record({0: SinkState(b"a later time")}, {1: {b"n": None, b"m": b"2"}}, {}, notes={2: [b"more", b"again"]})


def written(path, *records, secret=None):
    """A journal with some records, and where each of them ends."""
    journal = JournalStore(path, secret)
    journal.contents()
    ends = []
    for record in records:
        journal.write(record)
        ends.append(path.stat().st_size)
    journal.close()
    return ends


def held(path, secret=None):
    """What a journal says it holds."""
    journal = JournalStore(path, secret)
    try:
        return journal.contents()
    finally:
        journal.close()


def holding(*records):
    contents = JournalContents()
    for record in records:
        contents.add(record)
    return contents


def test_records_are_read_in_their_order(path):
    written(path, ONE, TWO)
    contents = held(path)
    assert contents == holding(ONE, TWO)
    assert contents.memory == {1: {b"m": b"2"}}
    assert contents.notes == {2: [b"noted", b"more", b"again"]}


def test_a_record_that_was_cut_short_is_taken_back(path):
    first, second = written(path, ONE, TWO)
    data = path.read_bytes()
    for end in range(first, second):
        path.write_bytes(data[:end])
        assert held(path) == holding(ONE)
        assert path.stat().st_size == first
        written(path, TWO)
        assert path.read_bytes() == data


@pytest.mark.parametrize("secret", [None, b"between us"])
def test_a_bit_flipped_anywhere_is_refused(path, secret):
    written(path, ONE, TWO, secret=secret)
    data = path.read_bytes()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        path.write_bytes(changed)
        with pytest.raises(ps.errors.JournalError):
            held(path, secret)
        assert path.read_bytes() == changed


@pytest.mark.parametrize("sector", [512, 4096])
def test_zeros_may_begin_anywhere_in_a_record(path, sector):
    """Where a sector of the disk begins: within what a record begins with, says or ends in; elsewhere it is damage."""
    payload = b"\xff" * 70
    for above in range(
        sector - HEADER - FRAME - len(payload) - 2 * DIGEST - FRAME + 1, sector - HEADER - FRAME - DIGEST
    ):
        path.unlink(missing_ok=True)
        file = JournalLog(path)
        file.append(b"\xff" * above)
        file.append(payload)
        file.close()
        data = path.read_bytes()
        begin = HEADER + FRAME + above + DIGEST
        assert begin < sector < len(data)
        cut = data[:sector] + bytes(len(data) - sector)
        path.write_bytes(cut)
        # Of 256 digests one ends in a zero itself: where there was no more than that behind it, nothing is lost.
        whole = cut == data
        file = JournalLog(path)
        assert [*file.records()] == [b"\xff" * above, payload][: 1 + whole]
        file.close()
        assert path.stat().st_size == (len(data) if whole else begin)
    path.write_bytes(data[: begin + 16] + bytes(len(data) - begin - 16))
    file = JournalLog(path)
    with pytest.raises(ps.errors.JournalError, match="checksum of record 1's frame is wrong"):
        [*file.records()]
    file.close()


def records_of(path):
    """The header, and the bytes of each record."""
    data, parts, at = path.read_bytes(), [], HEADER
    while at < len(data):
        (length,) = struct.unpack(">Q", data[at : at + 8])
        parts.append(data[at : at + FRAME + length + DIGEST])
        at += len(parts[-1])
    return data[:HEADER], parts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts, other: [parts[1], parts[0], parts[2]], r"damaged at byte 72: record 1 is in the place"),
        (lambda parts, other: [parts[0], parts[2]], "record 2 is in the place of record 1"),
        (lambda parts, other: [parts[0], parts[0], parts[1]], "record 0 is in the place of record 1"),
        (lambda parts, other: [parts[0], other[1], parts[2]], "record 1 is not what was written, or not in its place"),
        (lambda parts, other: [parts[0], parts[1], other[2]], "record 2 is not what was written"),
        (lambda parts, other: [parts[0], b"\xff" * FRAME, parts[1]], "checksum of record 1's frame"),
        (lambda parts, other: [parts[0][:-DIGEST] + bytes(DIGEST), *parts[1:]], "record 0 is not what was written"),
    ],
)
def test_records_out_of_their_places_are_found(path, tmp_path, change, message):
    written(path, ONE, TWO, ONE)
    written(tmp_path / "other", ONE, TWO, ONE)
    head, parts = records_of(path)
    path.write_bytes(data := head + b"".join(change(parts, records_of(tmp_path / "other")[1])))
    with pytest.raises(ps.errors.JournalError, match=rf"(?s){message}.*Restore a copy of it, or start over"):
        held(path)
    assert path.read_bytes() == data


# ---- which file


def database(path, kind, version):
    connection = sqlite3.connect(path)
    connection.execute(f"pragma application_id = {kind}")
    connection.execute(f"pragma user_version = {version}")
    connection.execute("create table about (name text primary key, value blob not null)")
    connection.commit()
    connection.close()


def with_format(number):
    head = struct.pack(">16sHH16s", log.MAGIC, number, 0, bytes(16))
    return head + struct.pack(">I", zlib.crc32(head)) + bytes(DIGEST)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda path: database(path, 0x70737472, 1),
            "is written in format 1, but this version of pullstream uses format 3: finish the run with",
        ),
        (lambda path: database(path, 0, 0), "not a journal: it is some other SQLite database"),
        (
            lambda path: path.write_bytes(with_format(2)),
            "is written in format 2, but this version of pullstream uses format 3: finish the run with",
        ),
        (
            lambda path: path.write_bytes(with_format(4)),
            "is written in format 4, but this version of pullstream uses format 3",
        ),
        (lambda path: path.write_bytes(log.MAGIC[:9]), "not a journal: it is a file of another kind"),
        (lambda path: path.write_bytes(log.MAGIC + b"\0\2"), "damaged at byte 18: it is truncated"),
        (lambda path: path.write_bytes(with_format(3)), "its header is damaged"),
        (lambda path: path.write_text("item,price\ntea,3\n"), "not a journal: it is a file of another kind"),
        (lambda path: path.write_bytes(b"\n"), "not a journal: it is a file of another kind"),
    ],
)
def test_files_of_other_kinds_are_refused(path, make, message):
    make(path)
    before = path.read_bytes()
    with pytest.raises(ps.errors.JournalError, match=message):
        held(path)
    assert path.read_bytes() == before


# ---- whose it is

GONE_OFF = []


class Bomb:
    """A pickle that does something when it is read."""

    def __reduce__(self):
        return GONE_OFF.append, ("bang",)


def planted(path, secret=None):
    """A journal whose records do something when they are read."""
    journal = JournalLog(path, secret)
    list(journal.records())
    journal.append(pickle.dumps(Bomb()))
    journal.close()


def test_a_journal_is_its_owners_alone(path):
    before = os.umask(0)
    try:
        written(path, ONE)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600


def of_another(path, monkeypatch):
    owner = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: owner)


def damaged(path, monkeypatch):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


OPEN_TO_OTHERS = "can be written to by users other than its owner.*chmod 600"


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        *((lambda path, _, mode=mode: path.chmod(mode), OPEN_TO_OTHERS) for mode in (0o620, 0o602, 0o666)),
        (of_another, "belongs to another user"),
        (damaged, "record 0 is not what was written"),
    ],
)
def test_a_journal_that_others_may_have_written_is_not_read(spoil, message, path, monkeypatch):
    """Reading it would do what they say: it is refused before it is looked into."""
    planted(path)
    spoil(path, monkeypatch)
    with pytest.raises(ps.errors.JournalError, match=message):
        held(path)
    assert not GONE_OFF


def test_a_secret_keeps_others_from_writing(path, tmp_path):
    """What was not made with it is not looked into; nor is a journal that was begun without, or with another."""
    written(path, ONE, secret=b"ours")
    assert held(path, b"ours") == holding(ONE)
    with pytest.raises(
        ps.errors.JournalError,
        match=rf"was written with a secret: open it with ps.Journal\('{path}', secret=\.\.\.\)",
    ):
        held(path)
    with pytest.raises(ps.errors.JournalError, match="written with another secret, or is damaged"):
        held(path, b"theirs")
    planted(tmp_path / "theirs", b"theirs")
    head, _ = records_of(path)
    _, forged = records_of(tmp_path / "theirs")
    path.write_bytes(head + forged[0])
    with pytest.raises(ps.errors.JournalError, match="record 0 is not what was written"):
        held(path, b"ours")
    planted(tmp_path / "plain")
    with pytest.raises(ps.errors.JournalError, match="was written without a secret"):
        held(tmp_path / "plain", b"ours")
    assert not GONE_OFF


@pytest.mark.parametrize("given", [{"secret": ""}, {"secret": b""}, {"secret": 5}, {"version": 2}])
def test_what_is_said_of_a_journal_is_checked(given):
    with pytest.raises(ps.CompositionError, match=r"Journal\((secret|version)=...\) must be text"):
        ps.Journal("here", **given)


# ---- how large it gets


def test_a_journal_keeps_itself_short(path, monkeypatch):
    """What is changed again and again takes little more room than what holds, and notes are all kept."""
    monkeypatch.setattr(store, "SMALL", 4096)
    monkeypatch.setattr(log, "_sync", lambda file: None)
    journal = JournalStore(path)
    journal.contents()
    largest = 0
    for n in range(1000):
        key = b"key %d" % (n % 10)
        notes = {2: [b"note %d" % n]} if n % 10 == 0 else {}
        journal.write(Record({0: SinkState(b"%d" % n)}, {1: {key: b"%d" % n, b"gone %d" % n: None}}, {}, notes=notes))
        largest = max(largest, path.stat().st_size)
    journal.close()
    contents = held(path)
    assert contents.notes == {2: [b"note %d" % n for n in range(0, 1000, 10)]}
    assert contents.memory == {1: {b"key %d" % (n % 10): b"%d" % n for n in range(990, 1000)}}
    assert contents.sinks == {0: SinkState(b"999")}
    assert largest < 20_000
    assert path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_what_a_killed_run_left_is_removed_and_nothing_else(path, monkeypatch):
    """A new file that never came to its place is the journal's own if it begins as that does."""
    monkeypatch.setattr(store, "SMALL", 0)
    monkeypatch.setattr(store, "SLACK", 0)
    theirs = path.with_name(f".{path.name}.0123.part")
    theirs.write_text("somebody else's")
    journal = JournalStore(path)
    journal.contents()
    left = []
    monkeypatch.setattr(type(path), "unlink", lambda path, **_: left.append(path))
    with pytest.raises(TypeError, match="killed"):
        monkeypatch.setattr(type(path), "replace", killed)
        journal.write(ONE)
    journal.close()
    monkeypatch.undo()
    assert [each.exists() for each in left] == [True]
    assert held(path) == holding(ONE)
    assert sorted(each.name for each in path.parent.iterdir()) == sorted([theirs.name, path.name])


def killed(*_):
    raise TypeError("killed")


def test_what_could_not_be_written_is_not_written_around(path, monkeypatch):
    journal = JournalStore(path)
    journal.contents()
    journal.write(ONE)
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]) and full_disk())
    with pytest.raises(ps.errors.JournalError, match="could not be written.*No space.*its contents are intact"):
        journal.write(TWO)
    monkeypatch.undo()
    with pytest.raises(ps.errors.JournalError, match="an earlier record could not be written"):
        journal.write(TWO)
    journal.close()
    assert held(path) == holding(ONE)


def full_disk(*_):
    raise OSError(28, "No space left on device")


# ---- who has it


FORKS = {
    "open": ("", "fork()"),
    "replaced": ("os.fsync = lambda file: (fork(), sync(file))", "fork()"),
    "opened": ("os.open = lambda *given: (setattr(os, 'open', opened), opened(*given), fork())[1]", "journal.close()"),
    "closed": ("", "os.close = lambda file: (setattr(os, 'close', closed), fork(), closed(file)); journal.close()"),
}
"""What is changed before a journal is opened, and what is called then, by the moment of the fork."""


@pytest.mark.parametrize("when", FORKS)
def test_a_forked_child_does_not_keep_the_journal(when, path):
    """A child outlives a parent that has closed it or was killed, and has no part in its run."""
    before, after = FORKS[when]
    records = () if when == "replaced" else (ONE,)
    if records:
        written(path, *records)
    program = f"""
import os, sys, time
from pathlib import Path
from pullstream.journal.store import JournalStore
def fork():
    reading, writing = os.pipe()
    if os.fork():
        os.read(reading, 1)
    else:
        os.write(writing, b"!")
        time.sleep(60)
sync, opened, closed = os.fsync, os.open, os.close
{before}
journal = JournalStore(Path({str(path)!r}))
journal.contents()
{after}
os._exit(0)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    parent = subprocess.Popen([sys.executable, "-c", program], env=environment, start_new_session=True)
    parent.wait()
    try:
        assert held(path) == holding(*records)
    finally:
        os.killpg(parent.pid, 9)


def test_a_journal_that_is_replaced_while_it_is_opened_is_opened_again(path, monkeypatch):
    """Who has waited for the lock of a file that is gone by then has the lock of nothing."""
    written(path, ONE)
    lock, files = log.lock, []

    def late(file):
        files.append(file)
        if len(files) == 1:
            new = path.with_name("new")
            written(new, TWO)
            new.replace(path)
        lock(file)

    monkeypatch.setattr(log, "lock", late)
    assert held(path) == holding(TWO)
