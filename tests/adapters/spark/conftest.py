"""One Spark Connect server with one session for all tests, and the choice between it and a classic session."""

import json
import os
import subprocess
import threading

import pytest

from tests.programs import started, wait

# Set before gRPC is imported: with its fork handlers, some of the processes that are started in a process with a
# channel (such as the Java of another session) abort at once.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")


class Server:
    def __init__(self, process):
        self.process = process
        self.url = f"sc://127.0.0.1:{int(process.stdout.readline())}"

    def ask(self, question):
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


@pytest.fixture(scope="session")
def server():
    pytest.importorskip("grpc")
    with started("-m", "tests.adapters.spark.connect.server", stdin=subprocess.PIPE) as process:
        yield Server(process)
        process.stdin.close()


@pytest.fixture(scope="session")
def connected(server):
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(server.url).create()
    yield session
    session.stop()


@pytest.fixture
def nothing_left_there(server):
    """After every test nothing is left of it, neither in the server nor here."""
    threads = set(threading.enumerate())
    yield
    wait(lambda: {kind: there for kind, there in server.ask("left").items() if there}, 60)
    wait(lambda: {t for t in set(threading.enumerate()) - threads if t.name.startswith("pullstream")}, 60)


@pytest.fixture
def remote(nothing_left_there, connected, monkeypatch):
    """The session, which hides the classic session of other tests in this process."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setattr(SparkSession._active_session, "session", connected, raising=False)
    return connected


@pytest.fixture(params=["classic", pytest.param("connect", marks=pytest.mark.slow)])
def any_session(request):
    return request.getfixturevalue({"classic": "session", "connect": "remote"}[request.param])


@pytest.fixture
def chosen(request):
    """The session of a test: `any_session` if the test asks for it, else the classic one."""
    return request.getfixturevalue("any_session" if "any_session" in request.fixturenames else "session")
