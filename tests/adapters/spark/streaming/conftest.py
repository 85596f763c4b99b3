"""Streams of files that the tests write, and what is there after them."""

import json
import os
import threading
import time

import pytest

from adapters import spark

SCHEMA = "number long, key string"


class Landing:
    """A folder in which files arrive, each a micro-batch of the stream over it, and the stream's checkpoint."""

    def __init__(self, session, root):
        self.session = session
        self.folder = root / "landing"
        self.folder.mkdir()
        self.checkpoint = root / "checkpoint"
        self.files = 0
        self._began = int(time.time()) - 3600

    def arrive(self, *files):
        """Files with so many rows each; the numbers go on from one to the next."""
        for rows in files:
            start = sum(1 for _ in self._numbers())
            lines = [json.dumps({"number": n, "key": "abc"[n % 3]}) for n in range(start, start + rows)]
            self.put("\n".join(lines))

    def put(self, text):
        """A file, as it is."""
        part = self.folder / ".part"
        part.write_text(text)
        # Spark takes the oldest file first. Kernels stamp files a few milliseconds apart alike, so the stamps are set.
        os.utime(part, (self._began + self.files, self._began + self.files))
        part.rename(self.folder / f"{self.files:04}.json")
        self.files += 1

    def _numbers(self):
        for path in sorted(self.folder.glob("*.json")):
            yield from path.read_text().splitlines()

    def frame(self, files=1, schema=SCHEMA, **options):
        """The stream of it, so many files to a micro-batch."""
        reader = self.session.readStream.schema(schema).option("maxFilesPerTrigger", files)
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.json(str(self.folder))

    def source(self, df=None, *, trigger="availableNow", **options):
        """What is under test."""
        df = self.frame() if df is None else df
        return spark.from_streaming(df, **{"checkpoint": self.checkpoint, "trigger": trigger, **options})

    @property
    def commits(self):
        """The micro-batches that Spark has committed, as it notes on the disk."""
        return self._notes("commits")

    @property
    def offsets(self):
        """Those that it has begun."""
        return self._notes("offsets")

    def _notes(self, kind):
        folder = self.checkpoint / kind
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit()) if folder.exists() else []


@pytest.fixture
def landing(session, tmp_path):
    """A stream of files."""
    return Landing(session, tmp_path)


JAVAS_OWN = set()
"""Threads that the bridge to Java keeps from some time on: for its server of callbacks, for what Java has collected,
and for a query that a test starts by Spark's own means."""


@pytest.fixture(autouse=True)
def nothing_left(session, until_idle):
    """After every test there is no query, and no job, and no thread of a query."""
    before = set(threading.enumerate())
    yield
    assert session.streams.active == []
    until_idle()
    deadline = time.monotonic() + 1
    while left := {t for t in set(threading.enumerate()) - before if not t.name.startswith("Trio thread")}:
        if time.monotonic() > deadline:
            JAVAS_OWN.update(left)
            assert len(JAVAS_OWN) <= 3, JAVAS_OWN
            break
        time.sleep(0.01)
