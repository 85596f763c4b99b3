"""Fixtures for the tests of reading: files to read, and a check that all are closed."""

import threading

import pytest

import pullstream as ps
from tests.adapters.descriptors import opened_files
from tests.adapters.files.failing import Through


def descriptors(folder):
    return [path for path in opened_files() if path.startswith(str(folder))]


@pytest.fixture
def folder(tmp_path):
    """A folder whose files must all be closed when the test ends."""
    yield tmp_path
    assert descriptors(tmp_path) == []


@pytest.fixture
def put(folder):
    def put(name, content):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put


@pytest.fixture
def read():
    def read(source, *, timed=False, limit=4096):
        return ps.run(ps.pipe(source, ps.collect(timed=timed)), limit=limit, check=True)

    return read


@pytest.fixture
def opened():
    return descriptors


class Held(Through):
    """A file system whose reads wait until they are released, except for the first `free` reads."""

    def __init__(self, free):
        super().__init__()
        self.free = free
        self.gate, self.waiting = threading.Event(), threading.Event()

    def part(self, file, size):
        if self.free:
            self.free -= 1
        else:
            self.waiting.set()
            assert self.gate.wait(20)
        return file.file.read(size)


@pytest.fixture
def held():
    made = []

    def make(free=0):
        made.append(Held(free))
        return made[-1]

    yield make
    for one in made:
        one.gate.set()
