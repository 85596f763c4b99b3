"""The chapters that are told piece by piece print what they say they print, and the model allows their runs."""

import importlib
import re
import subprocess
import sys
from contextlib import nullcontext
from functools import wraps
from pathlib import Path

import attrs
import pytest

from pullstream.checker import RULES
from pullstream.trace import Trace, judge, traced_runs
from pullstream.trace.view import data_of
from tutorials import lesson
from tutorials.contents import CHAPTERS as CONTENTS
from tutorials.lesson import code, parts_of, pieces, promised, tell

ROOT = Path(__file__).parents[2]

CHAPTERS = sorted({chapter.module for chapter in CONTENTS})

for chapter in CHAPTERS:
    importlib.import_module(chapter)

# A Spark program that is killed starts a Java of its own; the tests of streams kill some, too.
SLOW = ("again_and_again", "the_kit_kills_it", "spark_as_a_source: killed")

NAMED = {f"{chapter}: {piece.__name__}": piece for chapter in CHAPTERS for piece in pieces(chapter)}
PIECES = [
    pytest.param(
        piece, id=name, marks=[pytest.mark.slow] * name.endswith(SLOW) + [pytest.mark.spark] * ("spark" in name)
    )
    for name, piece in NAMED.items()
]

OF_OTHERS = {"who_came_first", "again_and_again", "killed", "the_kit_kills_it"}
"""Pieces whose runs are in other processes, or are the conformance kit's: they are not traced."""


def allowed(files):
    """See that the model allows each run that has begun, by what its trace says alone; how many these are."""
    found = [Trace.of(file.getvalue().splitlines()) for file in files if file.getvalue()]
    assert all(data_of(trace)["events"] for trace in found), "each can be shown"
    assert [verdict for trace in found if not (verdict := str(judge(trace))).startswith("allowed")] == []
    return len(found)


@pytest.mark.parametrize("piece", PIECES)
def test_a_piece_prints_what_it_says(piece, request, capsys):
    """The comment that ends a piece is its output, line for line; whatever goes wrong in it, its times are right."""
    if "spark" in piece.__module__:
        request.getfixturevalue("session")
    with nullcontext([]) if piece.__name__ in OF_OTHERS else traced_runs() as runs:
        piece()
    assert promised(piece)
    assert capsys.readouterr().out.splitlines() == promised(piece)
    found = allowed(runs)
    assert found or piece.__module__ != "tutorials.when_is_it_done"


def test_the_graphs_print_what_they_find_and_the_model_allows_it(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["graphs"])
    with traced_runs() as runs:
        importlib.import_module("tutorials.graphs.__main__").main()
    printed = capsys.readouterr().out
    assert "107 nodes, 224 edges" in printed
    assert "71 nodes can be reached from JFK, the farthest at distance 1" in printed
    assert "1 components" in printed
    assert "the 3-core has" in printed
    assert allowed(runs)


def told(part):
    """A part of a chapter whose piece prints what it promises, in no time: the pieces themselves run above."""
    return attrs.evolve(part, piece=part.piece and wraps(part.piece)(lambda: print(*promised(part.piece), sep="\n")))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_is_a_lesson_to_read(chapter, capsys, monkeypatch):
    """It tells its pieces in their order, and prints all that their code uses."""
    monkeypatch.setattr(lesson, "parts_of", lambda chapter: map(told, parts_of(chapter)))
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


def test_what_a_pull_is_meets_every_rule():
    *shown, _ = pieces("tutorials.what_a_pull_is")
    told = "".join(piece.__doc__ for piece in shown)
    assert {rule for rule in RULES if not re.search(rf"\b{rule}\b", told)} == set()


def test_one_piece_comes_with_its_tools_and_no_others(capsys):
    tell("tutorials.writing_your_own", [8])
    printed = capsys.readouterr().out
    piece = pieces("tutorials.writing_your_own")[7]

    assert "class Through" in printed
    assert "class Lookup" not in printed
    assert "8. Ending without notifying upstream" in printed
    assert "7. An abort" not in printed
    assert printed.splitlines()[-len(promised(piece)) :] == promised(piece)


def test_a_reader_that_has_seen_enough_is_no_error():
    """`| head`, or `q` in a pager, ends a chapter without a traceback."""
    command = f"{sys.executable} -m tutorials.what_a_pull_is | head -n 1"
    done = subprocess.run(command, check=False, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("What a pull is: ask, abort and error at one edge.\n", "")
