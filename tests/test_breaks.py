"""The breaks of `python -m tests.breaks` fit the code; the command itself checks that tests notice them."""

import ast

import pytest

from tests.breaks import ROOT, load


@pytest.mark.parametrize("each", load(), ids=lambda each: each.name)
def test_a_break_can_be_tried(each):
    """Its text occurs once, the replacement is valid Python, and its tests exist."""
    assert not each.refused(ROOT)
    ast.parse((ROOT / each.file).read_text(encoding="utf-8").replace(each.find, each.put))
