"""The chapter on Spark prints what it says: its pieces, one by one."""

import pytest

from adapters import spark
from tutorials import spark_as_a_source
from tutorials.lesson import pieces, promised

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", autouse=True)
def session():
    """The session that other tests have, or else one of this chapter's own."""
    from pyspark import SparkContext

    was_active = SparkContext._active_spark_context is not None
    session = spark.session(app_name="tests")
    yield
    if not was_active:
        session.stop()


@pytest.mark.parametrize(
    "piece",
    [
        # A program that is killed starts a Java of its own; the tests of streams kill some, too.
        pytest.param(piece, id=piece.__name__, marks=[pytest.mark.slow] * (piece.__name__ == "killed"))
        for piece in pieces(spark_as_a_source.__name__)
    ],
)
def test_a_piece_prints_what_it_says(piece, capsys):
    piece()
    assert promised(piece)
    assert capsys.readouterr().out.splitlines() == promised(piece)
