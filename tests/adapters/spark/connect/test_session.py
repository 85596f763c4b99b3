"""`session` with Spark Connect, and its guide, which lists what is refused."""

import re
from pathlib import Path

import pytest

import pullstream as ps
from adapters import spark
from adapters.spark.connect.gate import Gate
from tests.programs import python

pytestmark = pytest.mark.spark


@pytest.mark.slow
def test_the_active_session(remote, server):
    assert spark.session() is remote
    assert spark.session(master=server.url) is remote
    here = server.url.removeprefix("sc://")
    for other in ("elsewhere:15002", "127.0.0.1:1", "[::1]:15002"):
        with pytest.raises(spark.SessionMismatch, match=re.escape(f"its server is {here}, not {other}")):
            spark.session(master=f"sc://{other}")
    with pytest.raises(spark.SessionMismatch, match=r"spark.sql.shuffle.partitions is .*, not '7'"):
        spark.session(config={"spark.sql.shuffle.partitions": "7"})


PROGRAM = """
import os, sys
from adapters import spark
session = spark.session(master=sys.argv[1], config={"spark.sql.shuffle.partitions": "3"})
print(session.range(7).count(), session.conf.get("spark.sql.shuffle.partitions"), spark.session() is session)
session.stop()
os.environ["SPARK_REMOTE"] = sys.argv[1]
again = spark.session()
print(again.range(8).count(), again is session)
again.stop()
del os.environ["SPARK_REMOTE"]
try:
    spark.session()
except spark.SessionMismatch as exc:
    print(exc)
try:
    spark.session(master="sc://127.0.0.1:1")
except spark.SparkJobError as exc:
    print(exc)
"""


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left_there")
def test_a_new_session(server):
    """An address in the arguments or in the environment opens one; if no server answers, an error follows at once."""
    done = python("-c", PROGRAM, server.url)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["7 3 True", "8 False"], done.stderr
    assert "has no session: give the server's address" in lines[2]
    assert "cannot reach a Connect server at sc://127.0.0.1:1" in lines[3]


GUIDE = (Path(__file__).parents[4] / "tutorials/site/pages/guides/spark.md").read_text()


TABLE = GUIDE.split("| module | through Spark Connect |\n| --- | --- |\n")[1].split("\n\n")[0].splitlines()


def test_the_table_is_complete():
    functions = {name for name in spark.__all__ if callable(getattr(spark, name)) and name[0].islower()}
    assert {name for row in TABLE for name in re.findall(r"`(\w+)`", row.split("|")[1])} - {
        "display",
        "StreamStatus",
    } == (functions)


REFUSED = {
    "register_source": lambda session: spark.register_source("name", ps.values([1]), "n INT"),
    "ui=": lambda session: spark.session(ui=True),
    "event_log=": lambda session: spark.session(event_log="events"),
    "log_level=": lambda session: spark.session(log_level="INFO"),
}


@pytest.mark.slow
def test_refusals_in_the_table(remote):
    """They are errors when composing that name the function; web page, logs and events belong to the server."""
    rows = [row for row in TABLE if "refused" in row and "global temporary" not in row]
    assert len(rows) == 2
    for words, call in REFUSED.items():
        assert any(words in row for row in rows), words
        advice = "use write_table" if words == "register_source" else "set it where the server is started"
        with pytest.raises(ps.CompositionError, match=rf"(?s)^\w+\(\).*{advice}"):
            call(remote)


class NoServer:
    def __getattr__(self, name):
        raise AssertionError(f"the server is asked: {name}")


def test_making_a_gate_does_not_call_the_server():
    """A gate is made in the thread of the run, which a slow server would block."""
    Gate(NoServer(), "/checkpoints/sales")
