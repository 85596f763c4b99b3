"""A session that is stopped during a run, in a program of its own."""

import pytest

from tests.adapters.spark.helpers import ran

pytestmark = pytest.mark.spark

PROGRAM = """
import json, tempfile, threading
import trio
import pullstream as ps
from adapters import spark

found = {}

def message(source):
    try:
        # A busy machine may take its time to stop a session; what is said of it is the question here.
        ps.run(ps.pipe(source, ps.drain()), release_timeout=120)
    except ps.PullstreamError as exc:
        return f"{type(exc).__name__}: {exc}"

def stopped(make):
    # A session that ends in another thread, when the run is in the midst of its rows.
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
    # Its rows come from elsewhere; only what it writes with is stopped.
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
def test_a_session_that_is_stopped_during_a_run_is_named():
    found = ran(PROGRAM)
    assert len(found) == 4
    for route, error in found.items():
        kind = "SparkStreamError" if route.startswith("streaming") else "SparkJobError"
        assert error is not None, route
        assert error.startswith(f"{kind}: "), route
        assert "its session was stopped: use another, for example spark.session(), and make" in error, route
        assert len(error.splitlines()) <= 2, error
