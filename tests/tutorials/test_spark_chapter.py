"""The chapter on Spark prints what it says; it is told once, for that takes a while."""

import contextlib
import io
import sys

import pytest

from adapters import spark
from tutorials import spark_as_a_source
from tutorials.lesson import code, pieces, promised

CHAPTER = spark_as_a_source.__name__

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def told():
    """What the chapter prints; in the session that other tests have, or else in one of its own."""
    from pyspark import SparkContext

    was_active = SparkContext._active_spark_context is not None
    session = spark.session(app_name="tests")
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patched, contextlib.redirect_stdout(printed):
        patched.setattr(sys, "argv", [CHAPTER])
        spark_as_a_source.main()
    if not was_active:
        session.stop()
    return printed.getvalue()


@pytest.mark.parametrize("number", range(len(pieces(CHAPTER))))
def test_a_piece_prints_what_it_says(told, number):
    """Prose, code and output of every piece are there, in order, and the output is what the piece says."""
    piece = pieces(CHAPTER)[number]
    title = f"\n{piece.__doc__.splitlines()[0].removesuffix('.')}\n"
    assert piece.__doc__.startswith(f"{number + 1}. ")
    _, found, rest = told.partition(title)
    assert found
    for part in (piece.__doc__.split("\n")[2].strip(), code(piece).splitlines()[-1]):
        _, found, rest = rest.partition(part)
        assert found, part
    printed = rest.partition("\nprints\n\n")[2].splitlines()
    assert promised(piece)
    assert printed[: len(promised(piece)) + 1] == [*promised(piece), ""][: len(printed)]


def test_it_begins_with_its_introduction(told):
    """Run as a program, it is a lesson to read."""
    assert told.startswith(spark_as_a_source.__doc__.rstrip())
