"""Streams of files that the tests write, and their results."""

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
        self.folder.mkdir(parents=True)
        self.checkpoint = root / "checkpoint"
        self.files = 0
        self._began = int(time.time()) - 3600

    def arrive(self, *files):
        for rows in files:
            start = sum(1 for _ in self._numbers())
            lines = [json.dumps({"number": n, "key": "abc"[n % 3]}) for n in range(start, start + rows)]
            self.put("\n".join(lines))

    def put(self, text):
        part = self.folder / ".part"
        part.write_text(text)
        # Spark reads the oldest file first. Kernels may give two files the same time stamp, so the stamps are set.
        os.utime(part, (self._began + self.files, self._began + self.files))
        part.rename(self.folder / f"{self.files:04}.json")
        self.files += 1

    def _numbers(self):
        for path in sorted(self.folder.glob("*.json")):
            yield from path.read_text().splitlines()

    def frame(self, files=1, schema=SCHEMA, **options):
        reader = self.session.readStream.schema(schema).option("maxFilesPerTrigger", files)
        for name, value in options.items():
            reader = reader.option(name, value)
        return reader.json(str(self.folder))

    def source(self, df=None, *, trigger="availableNow", **options):
        df = self.frame() if df is None else df
        return spark.from_streaming(df, **{"checkpoint": self.checkpoint, "trigger": trigger, **options})

    @property
    def commits(self):
        """The micro-batches that Spark has committed, from its files."""
        return self._notes("commits")

    @property
    def offsets(self):
        return self._notes("offsets")

    def _notes(self, kind):
        folder = self.checkpoint / kind
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit()) if folder.exists() else []


@pytest.fixture
def landing(chosen, tmp_path):
    return Landing(chosen, tmp_path)


JAVAS_OWN = set()
"""The threads that py4j keeps: for its callback server, for objects that Java has collected, and for a query that
a test starts directly with Spark."""


@pytest.fixture(autouse=True)
def nothing_left(request):
    """After every test with a classic session no query, no job, and no thread of a query is left."""
    params = getattr(getattr(request.node, "callspec", None), "params", {})
    if params.get("any_session") == "connect":
        yield  # `remote` checks the server
        return
    session, until_idle = (request.getfixturevalue(name) for name in ("session", "until_idle"))
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
