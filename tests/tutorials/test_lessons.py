"""The chapters with pieces print what they say, and the model allows their runs."""

import importlib
import re
import subprocess
import sys
from contextlib import nullcontext
from functools import wraps
from pathlib import Path

import attrs
import pytest

import pullstream as ps
from pullstream.checker import RULES
from pullstream.trace import Trace, judge, traced_runs
from pullstream.trace.view import data_of
from tutorials import lesson, two_inputs
from tutorials.contents import CHAPTERS as CONTENTS
from tutorials.lesson import code, parts_of, pieces, promised, tell

ROOT = Path(__file__).parents[2]

CHAPTERS = sorted({chapter.module for chapter in CONTENTS})

for chapter in CHAPTERS:
    importlib.import_module(chapter)

# A killed Spark program starts another Java; the tests of streams have such kills, too.
SLOW = ("again_and_again", "the_kit_kills_it", "spark_as_a_source: killed")

NAMED = {f"{chapter}: {piece.__name__}": piece for chapter in CHAPTERS for piece in pieces(chapter)}
PIECES = [
    pytest.param(
        piece, id=name, marks=[pytest.mark.slow] * name.endswith(SLOW) + [pytest.mark.spark] * ("spark" in name)
    )
    for name, piece in NAMED.items()
]

OF_OTHERS = {"who_came_first", "again_and_again", "killed", "the_kit_kills_it"}
"""Pieces that run in other processes or in the conformance kit: they are not traced."""


def allowed(files):
    """Check that the model allows each run that has begun, judging only by its trace; return the number of runs."""
    found = [Trace.of(file.getvalue().splitlines()) for file in files if file.getvalue()]
    assert all(data_of(trace)["events"] for trace in found), "each can be shown"
    assert [verdict for trace in found if not (verdict := str(judge(trace))).startswith("allowed")] == []
    return len(found)


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_prints_its_comment(piece, request, capsys):
    """The comment at a piece's end is its output; its times are right even if the piece fails."""
    if "spark" in piece.__module__:
        request.getfixturevalue("session")
    with nullcontext([]) if piece.__name__ in OF_OTHERS else traced_runs() as runs:
        piece()
    assert promised(piece)
    assert capsys.readouterr().out.splitlines() == promised(piece)
    found = allowed(runs)
    assert found or piece.__module__ != "tutorials.when_is_it_done"


def test_the_graphs_print_results_and_the_model_allows_them(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["graphs"])
    with traced_runs() as runs:
        importlib.import_module("tutorials.graphs.__main__").main()
    printed = capsys.readouterr().out
    assert "107 nodes, 224 edges" in printed
    assert "71 nodes can be reached from JFK, the farthest at distance 1" in printed
    assert "1 components" in printed
    assert "the 3-core has" in printed
    assert allowed(runs)


def printing(part):
    """A part of a chapter that only prints its piece's promised output: the pieces themselves run above."""
    return attrs.evolve(part, piece=part.piece and wraps(part.piece)(lambda: print(*promised(part.piece), sep="\n")))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_prints_its_pieces(chapter, capsys, monkeypatch):
    """A chapter prints its pieces in order, and all the code that they use."""
    monkeypatch.setattr(lesson, "parts_of", lambda chapter: map(printing, parts_of(chapter)))
    monkeypatch.setattr(sys, "argv", [chapter])
    module = importlib.import_module(chapter)
    module.main()
    printed = capsys.readouterr().out
    assert printed.startswith(module.__doc__)
    for line in re.findall(r"^(?:import|from|[A-Z]\w+ =) .*", Path(module.__file__).read_text(), flags=re.MULTILINE):
        if line != "from tutorials.lesson import tell":
            assert line.removesuffix(", tell") in printed, line
    for number, piece in enumerate(pieces(chapter), start=1):
        assert piece.__doc__.startswith(f"{number}. ")
        for part in (piece.__doc__.split("\n")[2].strip(), code(piece).splitlines()[-1], promised(piece)[-1]):
            _, found, printed = printed.partition(part)
            assert found, part


def test_a_chapter_mentions_every_rule():
    *shown, _ = pieces("tutorials.what_a_pull_is")
    prose = "".join(piece.__doc__ for piece in shown)
    assert {rule for rule in RULES if not re.search(rf"\b{rule}\b", prose)} == set()


def test_one_piece_comes_with_only_its_tools(capsys):
    tell("tutorials.writing_your_own", [8])
    printed = capsys.readouterr().out
    piece = pieces("tutorials.writing_your_own")[7]

    assert "class Through" in printed
    assert "class Lookup" not in printed
    assert "8. Ending without notifying upstream" in printed
    assert "7. An abort" not in printed
    assert printed.splitlines()[-len(promised(piece)) :] == promised(piece)


def test_pairs_at_different_times_are_refused_with_a_journal(tmp_path):
    pairs = two_inputs.InTurn(two_inputs.rows("a", 1), two_inputs.rows("b", 2))
    with pytest.raises(ps.errors.JournalError, match=r"InTurn.*cannot be in a run with a journal"):
        ps.run(ps.pipe(pairs, ps.collect()), journal=tmp_path / "journal")


def test_a_closed_pipe_is_no_error():
    """A chapter ends without a traceback after `| head`, or `q` in a pager."""
    command = f"{sys.executable} -m tutorials.what_a_pull_is | head -n 1"
    done = subprocess.run(command, check=False, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("What a pull is: ask, abort and error at one edge.\n", "")
