"""The runs of the chapters, traced: the model allows each of them, by what its trace says alone."""

import importlib
import sys

import pytest

from pullstream.trace import Trace, judge, traced_runs
from pullstream.trace.view import data_of
from tests.tutorials.test_lessons import CHAPTERS
from tutorials.lesson import pieces

LONG = {"who_came_first", "again_and_again", "killed"}
"""One calls the conformance kit, two run until they are killed, over and over."""

PIECES = [
    pytest.param(piece, id=f"{chapter}: {piece.__name__}", marks=[pytest.mark.slow] * (piece.__name__ in LONG))
    for chapter in CHAPTERS
    for piece in pieces(chapter)
]


@pytest.fixture
def traces():
    """The traces of all runs that are opened, written as they are."""
    with traced_runs() as files:
        yield files


def verdicts(files):
    """What the model says of each run that has begun."""
    found = [Trace.of(file.getvalue().splitlines()) for file in files if file.getvalue()]
    assert all(data_of(trace)["events"] for trace in found), "each can be shown"
    return [str(judge(trace)) for trace in found]


@pytest.mark.parametrize("piece", PIECES)
def test_the_model_allows_what_a_chapter_does(piece, traces, capsys):
    """Whatever goes wrong in it is not what the run says of its times."""
    piece()
    assert [verdict for verdict in verdicts(traces) if not verdict.startswith("allowed")] == []


def test_the_model_allows_what_graphs_do(traces, capsys, monkeypatch):
    """Loops, and loops in loops, until they have converged."""
    monkeypatch.setattr(sys, "argv", ["graphs"])
    importlib.import_module("tutorials.graphs.__main__").main()
    found = verdicts(traces)
    assert found
    assert [verdict for verdict in found if not verdict.startswith("allowed")] == []


def test_chapters_have_runs(traces, capsys):
    """There is something to judge."""
    for piece in pieces("tutorials.when_is_it_done"):
        piece()
    assert len(verdicts(traces)) > 10
