"""The breaks of `python -m tests.breaks` fit the code; the command itself sees that tests notice them."""

import ast

import pytest

from tests.breaks import ROOT, load


@pytest.mark.parametrize("each", load(), ids=lambda each: each.name)
def test_a_break_can_be_tried(each):
    """Its text occurs once, what is put in its place is Python, and its tests are there."""
    assert not each.refused(ROOT)
    ast.parse((ROOT / each.file).read_text(encoding="utf-8").replace(each.find, each.put))
