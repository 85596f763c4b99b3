"""Fixtures for the tests of reading: files to read, and a check that none is left open."""

import threading

import pytest
import trio

import pullstream as ps
from tests.adapters.descriptors import opened_files


def descriptors(folder):
    """The files below a folder that this process has open."""
    return [path for path in opened_files() if path.startswith(str(folder))]


@pytest.fixture
def folder(tmp_path):
    """A folder whose files are all closed again when the test ends."""
    yield tmp_path
    assert descriptors(tmp_path) == []


@pytest.fixture
def put(folder):
    """Write a file of bytes or text; returns its path."""

    def put(name, content):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture
def read():
    """The values of a source, from a run with checks."""

    def read(source, *, timed=False, limit=4096):
        return ps.run(ps.pipe(source, ps.collect(timed=timed)), limit=limit, check=True)

    return read


@pytest.fixture
def failing():
    """The values of a source before it fails, and the failure."""

    def failing(source, kind):
        got = []
        with pytest.raises(kind) as caught:
            ps.run(ps.pipe(source, ps.drain(got.append)), check=True)
        return got, caught.value

    return failing


@pytest.fixture
def opened():
    """The number of open files below a folder."""
    return descriptors


class Held:
    """A file system whose reads wait until they are released; a file's first bytes arrive at once."""

    def __init__(self, fs, *, free=0):
        self._fs = fs
        self._free = free
        self.gate = threading.Event()
        self.waiting = threading.Event()
        self.files = []

    def __getattr__(self, name):
        return getattr(self._fs, name)

    def open(self, path, mode="rb", **options):
        file = HeldFile(self, self._fs.open(path, mode, **options), self._free)
        self.files.append(file)
        return file


class HeldFile:
    def __init__(self, held, file, free):
        self._held = held
        self._file = file
        self._free = free

    def __getattr__(self, name):
        return getattr(self._file, name)

    def read(self, size=-1):
        if self._free:
            self._free -= 1
        else:
            self._held.waiting.set()
            assert self._held.gate.wait(20)
        return self._file.read(size)


@pytest.fixture
def held():
    """A function that makes a file system whose reads wait, and releases them at the end."""
    made = []

    def make(fs, *, free=0):
        made.append(Held(fs, free=free))
        return made[-1]

    yield make
    for one in made:
        one.gate.set()


async def until(test):
    """Wait until a condition holds, which other threads bring about."""
    with trio.fail_after(300):
        while not test():  # noqa: ASYNC110 - what other threads do can only be polled
            await trio.sleep(0.002)


@pytest.fixture(name="until")
def until_fixture():
    return until
