"""The guide about Spark Connect is complete, and what it calls refused is refused."""

import re
from pathlib import Path

import pytest

import pullstream as ps
from adapters import spark

pytestmark = pytest.mark.spark

GUIDE = (Path(__file__).parents[4] / "tutorials/site/pages/guides/spark.md").read_text()
TABLE = GUIDE.split("| module | through Spark Connect |\n| --- | --- |\n")[1].split("\n\n")[0].splitlines()


def test_the_table_is_complete():
    """Each function of the package has a row."""
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


def test_refusals_in_the_table(remote):
    """They are errors when composing, which name the function."""
    rows = [row for row in TABLE if "refused" in row and "global temporary" not in row]
    assert len(rows) == 2
    for words, call in REFUSED.items():
        assert any(words in row for row in rows), words
        with pytest.raises(ps.CompositionError, match=r"^\w+\(\)"):
            call(remote)
