"""The chapter on could-result-in runs, and shows what its prose says."""

import runpy
from pathlib import Path

import pytest

CHAPTER = Path(__file__).parents[2] / "tutorials" / "could_result_in.py"


@pytest.fixture(scope="module")
def chapter():
    return runpy.run_path(str(CHAPTER))


def test_the_chapter_runs_from_top_to_bottom(capsys):
    """Run as a script it prints its four parts in order, and the tracker's frontier passes from 0 to 1 to the end."""
    runpy.run_path(str(CHAPTER), run_name="__main__")
    printed = capsys.readouterr().out
    parts = [line for line in printed.splitlines() if line[:2] in {"1.", "2.", "3.", "4."}]
    assert [part[0] for part in parts] == ["1", "2", "3", "4"]
    moves = [line.split("moved to ")[1] for line in printed.splitlines() if "moved to" in line]
    assert moves == ["Antichain([0])", "Antichain([1])", "Antichain()"]


def test_by_hand_a_message_in_the_loop_comes_out_a_round_later(chapter):
    """Something on the way round at 1 can come out at 2, and no earlier."""
    leads = chapter["by_hand"]()
    here = chapter["model"].Pointstamp("a", 1)
    out = [leads(here, chapter["model"].Pointstamp("out", t)) for t in (0, 1, 2)]
    assert out == [False, False, True]


def test_into_the_past_the_relation_is_not_transitive(chapter):
    """The chapter's counterexample fails both Condition 2 and transitivity, as Theorem 1 says it must."""
    leads = chapter["into_the_past"]()
    assert chapter["model"].intransitive(leads) is not None
    assert chapter["model"].condition_2(leads) is not None


def test_along_paths_words_shorten_to_their_normal_form(chapter):
    """The five words come out as 1, e, if, 1 and eif."""
    letters = [getattr(form, "letters", "") for form in chapter["along_paths"]()]
    assert letters == ["", "e", "if", "", "eif"]


def test_by_query_the_loop_is_sound_and_the_frontier_is_as_told(chapter, capsys):
    """The counting loop has no bad cycle, the other is refused, and epoch 0 can still reach the sink."""
    chapter["by_query"]()
    printed = capsys.readouterr().out
    assert "cycles that do not advance: none" in printed
    assert "the builder refuses: this cycle does not strictly advance time" in printed
    assert "may still reach `body`: [LoopTime(0, (3,)), LoopTime(1, (0,))]" in printed
    assert "may still reach `sink`: [0]" in printed


def test_by_tracker_every_frontier_is_the_querys(chapter):
    """Seven moves over ten places: seventy frontiers, all compared."""
    assert chapter["by_tracker"]() == 70


def test_against_the_model_the_run_is_allowed_and_a_hasty_one_is_not(chapter, capsys):
    """The recorded completion is one the model allows; a move earlier it is too early."""
    assert chapter["against_the_model"]().ok
    assert "it would have been too early: still pending: 0 at 'leaving'" in capsys.readouterr().out
