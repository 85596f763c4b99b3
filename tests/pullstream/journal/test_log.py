"""The journal's file: damage is refused, a truncated record is removed, and the owner is checked."""

import os
import pickle
import sqlite3
import struct
import subprocess
import sys
import zlib
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

import pullstream as ps
from pullstream import locks
from pullstream.journal import log, store
from pullstream.journal.log import HEADER, JournalLog
from pullstream.journal.store import JournalStore, Record, SinkState

FRAME = 20
DIGEST = 32


# ---- records

ONE = Record(
    {0: SinkState(b"a time")}, {1: {b"n": b"1"}}, {1: {b"file": b"0"}}, {"pipeline": b"this one"}, {2: [b"noted"]}
)
TWO = Record({0: SinkState(b"a later time")}, {1: {b"n": None, b"m": b"2"}}, {}, notes={2: [b"more", b"again"]})


def written(path, *records, secret=None):
    """Write a journal with some records; return where each ends."""
    ends = []
    with opened(path, secret) as (journal, _):
        for record in records:
            journal.write(record)
            ends.append(path.stat().st_size)
    return ends


@contextmanager
def opened(path, secret=None):
    """A journal and its contents."""
    journal = JournalStore(path, secret)
    try:
        yield journal, journal.contents()
    finally:
        journal.close()


def held(path, secret=None):
    with opened(path, secret) as (_, contents):
        return contents


def refused(path, message=None, secret=None):
    """Check that a journal is refused and left unchanged."""
    before = path.read_bytes()
    with pytest.raises(ps.errors.JournalError, match=message):
        held(path, secret)
    assert path.read_bytes() == before


def holding(*records):
    contents = Record()
    for record in records:
        contents.add(record)
    return contents


def test_records_are_read_in_their_order(path):
    written(path, ONE, TWO)
    contents = held(path)
    assert contents == holding(ONE, TWO)
    assert contents.memory == {1: {b"m": b"2"}}
    assert contents.notes == {2: [b"noted", b"more", b"again"]}


def test_a_truncated_record_is_removed(path):
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
        refused(path, secret=secret)


@pytest.mark.parametrize("sector", [512, 4096])
def test_zeros_may_begin_anywhere_in_a_record(path, sector):
    """At a sector's start within a record's frame, payload or digest; elsewhere zeros are damage."""
    payload = b"\xff" * 70
    most = sector - HEADER - FRAME - DIGEST
    for above in range(most - FRAME - len(payload) - DIGEST + 1, most):
        path.unlink(missing_ok=True)
        with closing(JournalLog(path)) as file:
            file.append(b"\xff" * above)
            file.append(payload)
        data = path.read_bytes()
        begin = HEADER + FRAME + above + DIGEST
        assert begin < sector < len(data)
        cut = data[:sector] + bytes(len(data) - sector)
        path.write_bytes(cut)
        # One digest in 256 ends in a zero byte itself: if only that byte was cut, nothing is lost.
        whole = cut == data
        with closing(JournalLog(path)) as file:
            assert [*file.records()] == [b"\xff" * above, payload][: 1 + whole]
        assert path.stat().st_size == (len(data) if whole else begin)
    path.write_bytes(data[: begin + 16] + bytes(len(data) - begin - 16))
    with closing(JournalLog(path)) as file, pytest.raises(ps.errors.JournalError, match="record 1's frame is wrong"):
        [*file.records()]


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
        (lambda parts, other: [parts[0], other[1], parts[2]], "record 1 is not what was written, or is out of place"),
        (lambda parts, other: [parts[0], parts[1], other[2]], "record 2 is not what was written"),
        (lambda parts, other: [parts[0], b"\xff" * FRAME, parts[1]], "checksum of record 1's frame"),
        (lambda parts, other: [parts[0][:-DIGEST] + bytes(DIGEST), *parts[1:]], "record 0 is not what was written"),
    ],
)
def test_misplaced_records_are_refused(path, tmp_path, change, message):
    written(path, ONE, TWO, ONE)
    written(tmp_path / "other", ONE, TWO, ONE)
    head, parts = records_of(path)
    path.write_bytes(head + b"".join(change(parts, records_of(tmp_path / "other")[1])))
    refused(path, rf"(?s){message}.*Restore a copy of it, or start over")


# ---- kinds of files


def database(path, kind, version):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma application_id = {kind}")
        connection.execute(f"pragma user_version = {version}")
        connection.execute("create table about (name text primary key, value blob not null)")


def with_format(number):
    head = struct.pack(">16sHH16s", log.MAGIC, number, 0, bytes(16))
    return head + struct.pack(">I", zlib.crc32(head)) + bytes(DIGEST)


OTHER_FORMAT = "is written in format {}, but this version of pullstream uses format 3: finish the run with".format
OTHER_KIND = "not a journal: it is a file of another kind"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: database(path, 0x70737472, 1), OTHER_FORMAT(1)),
        (lambda path: database(path, 0, 0), "not a journal: it is some other SQLite database"),
        (lambda path: path.write_bytes(with_format(2)), OTHER_FORMAT(2)),
        (lambda path: path.write_bytes(with_format(4)), OTHER_FORMAT(4).partition(":")[0]),
        (lambda path: path.write_bytes(with_format(3)), "its header is damaged"),
        (lambda path: path.write_bytes(log.MAGIC[:9]), OTHER_KIND),
        (lambda path: path.write_bytes(log.MAGIC + b"\0\2"), "damaged at byte 18: it is truncated"),
        (lambda path: path.write_text("item,price\ntea,3\n"), OTHER_KIND),
        (lambda path: path.write_bytes(b"\n"), OTHER_KIND),
    ],
)
def test_files_of_other_kinds_are_refused(path, make, message):
    make(path)
    refused(path, message)


# ---- owners

GONE_OFF = []


class Bomb:
    """A pickle that does something when it is read."""

    def __reduce__(self):
        return GONE_OFF.append, ("bang",)


def planted(path, secret=None):
    """A journal whose records do something when they are read."""
    with closing(JournalLog(path, secret)) as journal:
        list(journal.records())
        journal.append(pickle.dumps(Bomb()))


def test_a_journal_has_mode_0600(path):
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
def test_a_journal_that_others_can_write_is_not_read(spoil, message, path, monkeypatch):
    """Unpickling it could run their code: it is refused before it is read."""
    planted(path)
    spoil(path, monkeypatch)
    refused(path, message)
    assert not GONE_OFF


def test_a_secret_keeps_others_from_writing(path, tmp_path):
    """Records made without it are not unpickled; nor is a journal begun without a secret or with another."""
    written(path, ONE, secret=b"ours")
    assert held(path, b"ours") == holding(ONE)
    refused(path, rf"was written with a secret: open it with ps.Journal\('{path}', secret=\.\.\.\)")
    refused(path, "written with another secret, or is damaged", b"theirs")
    planted(tmp_path / "theirs", b"theirs")
    head, _ = records_of(path)
    _, forged = records_of(tmp_path / "theirs")
    path.write_bytes(head + forged[0])
    refused(path, "record 0 is not what was written", b"ours")
    planted(tmp_path / "plain")
    refused(tmp_path / "plain", "was written without a secret", b"ours")
    assert not GONE_OFF


@pytest.mark.parametrize("given", [{"secret": ""}, {"secret": b""}, {"secret": 5}, {"version": 2}])
def test_options_of_a_journal_are_checked(given):
    with pytest.raises(ps.CompositionError, match=r"Journal\((secret|version)=...\) must be text"):
        ps.Journal("here", **given)


# ---- size


def test_a_journal_is_compacted(path, monkeypatch):
    monkeypatch.setattr(store, "SMALL", 4096)
    monkeypatch.setattr(log, "_sync", lambda file: None)

    def record(n):
        memory = {1: {b"key %d" % (n % 10): b"%d" % n, b"gone %d" % n: None}}
        return Record({0: SinkState(b"%d" % n)}, memory, {}, notes={2: [b"note %d" % n]} if n % 10 == 0 else {})

    largest = max(written(path, *map(record, range(1000))))
    contents = held(path)
    assert contents.notes == {2: [b"note %d" % n for n in range(0, 1000, 10)]}
    assert contents.memory == {1: {b"key %d" % (n % 10): b"%d" % n for n in range(990, 1000)}}
    assert contents.sinks == {0: SinkState(b"999")}
    assert largest < 20_000
    assert path.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in path.parent.iterdir()] == [path.name]


def test_only_leftovers_of_a_killed_run_are_removed(path, monkeypatch):
    """A new file that never replaced the journal is its own if it begins as the journal does."""
    monkeypatch.setattr(store, "SMALL", 0)
    monkeypatch.setattr(store, "SLACK", 0)
    theirs = path.with_name(f".{path.name}.0123.part")
    theirs.write_text("somebody else's")
    left = []
    with opened(path) as (journal, _), monkeypatch.context() as patched:
        patched.setattr(type(path), "unlink", lambda path, **_: left.append(path))
        patched.setattr(type(path), "replace", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            journal.write(ONE)
    assert [each.exists() for each in left] == [True]
    assert held(path) == holding(ONE)
    assert sorted(each.name for each in path.parent.iterdir()) == sorted([theirs.name, path.name])


def test_no_record_is_written_after_a_failed_write(path, monkeypatch):
    write = os.write

    def full_disk(file, data):
        write(file, data[:10])
        raise OSError(28, "No space left on device")

    with opened(path) as (journal, _):
        journal.write(ONE)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", full_disk)
            with pytest.raises(ps.errors.JournalError, match="could not be written.*No space.*its contents are intact"):
                journal.write(TWO)
        with pytest.raises(ps.errors.JournalError, match="an earlier record could not be written"):
            journal.write(TWO)
    assert held(path) == holding(ONE)


# ---- locks


FORKS = {
    "open": ("", "fork()"),
    "replaced": ("os.fsync = lambda file: (fork(), sync(file))", "fork()"),
    "opened": ("os.open = lambda *given: (setattr(os, 'open', opened), opened(*given), fork())[1]", "journal.close()"),
    "closed": ("", "os.close = lambda file: (setattr(os, 'close', closed), fork(), closed(file)); journal.close()"),
}
"""Code to run before a journal is opened, and after, by the moment of the fork."""


@pytest.mark.parametrize("when", FORKS)
def test_a_forked_child_does_not_keep_the_journal(when, path):
    """A child may outlive a parent that closed the journal or was killed, but has no part in the run."""
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


def test_a_journal_replaced_while_opening_is_reopened(path, monkeypatch):
    """A lock obtained on a file that was replaced meanwhile protects nothing."""
    written(path, ONE)
    lock, files = locks.lock, []

    def late(file):
        files.append(file)
        if len(files) == 1:
            new = path.with_name("new")
            written(new, TWO)
            new.replace(path)
        lock(file)

    monkeypatch.setattr(locks, "lock", late)
    assert held(path) == holding(TWO)
