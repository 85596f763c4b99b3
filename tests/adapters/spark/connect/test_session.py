"""`session` with Spark Connect, where Spark is another program."""

import re
import subprocess
import sys

import pytest

import pullstream as ps
from adapters import spark

pytestmark = pytest.mark.spark


def test_the_active_session(remote, server):
    """It is returned unchanged, and cannot be changed by arguments."""
    assert spark.session() is remote
    assert spark.session(master=server.url) is remote
    here = server.url.removeprefix("sc://")
    for other in ("elsewhere:15002", "127.0.0.1:1", "[::1]:15002"):
        with pytest.raises(spark.SessionMismatch, match=re.escape(f"its server is {here}, not {other}")):
            spark.session(master=f"sc://{other}")
    with pytest.raises(spark.SessionMismatch, match=r"spark.sql.shuffle.partitions is .*, not '7'"):
        spark.session(config={"spark.sql.shuffle.partitions": "7"})


@pytest.mark.parametrize("option", [{"log_level": "INFO"}, {"ui": True}, {"event_log": "events"}])
def test_options_of_the_server(remote, option):
    """The web page, logs and events must be set when the server starts."""
    with pytest.raises(ps.CompositionError, match=r"set it where the server is started"):
        spark.session(**option)


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
    """An address in the arguments or in the environment opens one; if no server answers, that is an error at once."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, server.url], capture_output=True, text=True, timeout=300, check=False
    )
    lines = done.stdout.splitlines()
    assert lines[:2] == ["7 3 True", "8 False"], done.stderr
    assert "has no session: give the server's address" in lines[2]
    assert "cannot reach a Connect server at sc://127.0.0.1:1" in lines[3]
