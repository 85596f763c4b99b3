"""Java ends unexpectedly: errors explain it, and the program can continue with a new session."""

import pytest

from adapters import spark
from adapters.spark.ended import _error
from tests.adapters.spark.helpers import ran
from tests.adapters.spark.page import check_row
from tests.programs import python

pytestmark = pytest.mark.spark

BEGIN = """
import os, signal, sys, tempfile
import pullstream as ps
from adapters import spark

def attempt(what, function):
    try:
        print(what, function(), flush=True)
    except Exception as exc:
        print(what, type(exc).__name__, *str(exc).splitlines(), flush=True)
"""

KILL = """
def killed(make):
    session = spark.session(master="local[2]")
    java = session._jvm.java.lang.ProcessHandle.current().pid()
    seen = []

    def kill(value):
        seen.append(value)
        if len(seen) == 20_000:
            os.kill(java, signal.SIGKILL)

    attempt("run", lambda: ps.run(ps.pipe(make(session), ps.tap(kill), ps.drain())))
    return session
"""

KILLED = """
session = killed(lambda session: spark.from_dataframe(session.range(0, 40_000_000, 1, 64), as_="tuples"))
attempt("composing", lambda: spark.from_dataframe(session.range(10)))
attempt("action", lambda: session.range(10).count())
attempt("query", lambda: session.sql("SELECT 1"))
attempt("stop", session.stop)
attempt("anew", lambda: spark.session(master="local[2]").range(7).count())
spark.session().stop()

def stream(session):
    rate = session.readStream.format("rate").option("rowsPerSecond", 20_000).load()
    return spark.from_streaming(rate, checkpoint=tempfile.mkdtemp())

session = killed(stream)
# The ended session is still active.
session = spark.session(master="local[2]")
attempt("anew", lambda: session.range(7).count())
java = session._jvm.java.lang.ProcessHandle.current().pid()
os.kill(java, signal.SIGKILL)
attempt("struck", lambda: session.range(10).count())
attempt("anew", lambda: ps.run(ps.pipe(spark.from_dataframe(spark.session(master="local[2]").range(7)), ps.collect())))
spark.session().stop()
"""

FULL = """
session = spark.session(master="local[1]", config={"spark.driver.memory": "512m"})
frame = session.range(0, 40, 1, 1).selectExpr("collect_list(repeat(cast(id AS STRING), 50000000)) AS large")
attempt("run", lambda: ps.run(ps.pipe(spark.from_dataframe(frame), ps.drain())))
attempt("anew", lambda: spark.session(master="local[1]").range(7).count())
spark.session().stop()
"""


def output_of(program):
    """Run a program; return its output, and its error output without what Java prints at every start."""
    done = python("-c", BEGIN + program)
    assert done.returncode == 0, done.stderr
    beside = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: Using incubator modules")]
    return done.stdout.splitlines(), beside


def check_lines(*lines):
    for line in lines:
        _, name, message = line.split(" ", 2)
        check_row("Java was killed", name, message)


@pytest.mark.slow
def test_a_killed_java():
    lines, _ = output_of(KILL + KILLED)
    run, composing, action, query, stop, anew, stream, second, struck, again = lines
    check_lines(run, composing, action, query, stream, struck)
    assert [stop, anew, second] == ["stop None", "anew 7", "anew 7"]
    assert again.startswith("anew [")


@pytest.mark.slow
def test_a_java_without_memory():
    """Spark has an exit code for this, and the error names the setting to change."""
    lines, _ = output_of(FULL)
    _, name, message = lines[0].split(" ", 2)
    check_row("Java ran out of memory", name, message)
    assert lines[1] == "anew 7"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (52, "it ran out of memory"),
        (-9, "killed by SIGKILL. If nobody killed it, the system ran out of memory"),
        (143, "killed by SIGTERM"),
        (-6, "killed by SIGABRT. If nobody killed it, see the standard error, or a file hs_err_pid"),
        (1, "with exit code 1. See the standard error"),
        (200, "with exit code 200"),
    ],
)
def test_the_reason_for_the_end(code, words):
    error = _error(code)
    assert isinstance(error, spark.SparkJobError)
    assert words in str(error)


STOPPED = """
import json, tempfile, threading
import trio
import pullstream as ps
from adapters import spark

found = {}

def message(source):
    try:
        # A busy machine may be slow to stop a session; only the error matters here.
        ps.run(ps.pipe(source, ps.drain()), release_timeout=120)
    except ps.PullstreamError as exc:
        return f"{type(exc).__name__}: {exc}"

def stopped(make):
    # A session that another thread stops during the run.
    session = spark.session(master="local[2]", config={"spark.ui.enabled": "false"})
    folder = tempfile.mkdtemp()
    ended = threading.Event()

    def stop():
        session.stop()
        ended.set()

    def see(row):
        if row.id == 30_000:
            threading.Thread(target=stop).start()
        return row

    answer = message(make(session, ps.map(see), folder))
    assert ended.wait(60)
    return answer

def rows(session):
    return session.range(0, 5_000_000, 1, 8)

def streaming(session, folder):
    rows(session).write.parquet(folder + "/in")
    frame = session.readStream.schema("id BIGINT").parquet(folder + "/in")
    return spark.from_streaming(frame, checkpoint=folder + "/checkpoint", trigger=trigger)

found["dataframe"] = stopped(lambda session, see, folder: ps.pipe(spark.from_dataframe(rows(session)), see))
for trigger in (None, "availableNow"):
    found[f"streaming {trigger}"] = stopped(
        lambda session, see, folder: ps.pipe(streaming(session, folder), see)
    )

@ps.source
async def late(ctx, session, table):
    # The rows come from elsewhere; only the session that writes them is stopped.
    async def slowly(n):
        if n == 3:
            threading.Thread(target=session.stop).start()
        await trio.sleep(0.3)
        return (n,)
    numbers = ps.pipe(ps.values(range(12), time=lambda n: n), ps.map_async(slowly, 1))
    async with ps.pipe(numbers, table).open() as running:
        yield await running.result()

session = spark.session(master="local[2]", config={"spark.ui.enabled": "false"})
found["write_table"] = message(late(session, spark.write_table(tempfile.mkdtemp(), "id BIGINT", session=session)))
print(json.dumps(found))
"""


@pytest.mark.slow
def test_a_session_stopped_during_a_run_is_named():
    found = ran(STOPPED)
    assert len(found) == 4
    for route, error in found.items():
        kind = "SparkStreamError" if route.startswith("streaming") else "SparkJobError"
        assert error is not None, route
        assert error.startswith(f"{kind}: "), route
        assert "its session was stopped: use another, for example spark.session(), and make" in error, route
        assert len(error.splitlines()) <= 2, error
