"""Rows of a change feed: what each of them says, and which are none."""

from types import SimpleNamespace

import pytest

from pullstream.incremental import change_of


@pytest.mark.parametrize(
    ("kind", "diff"), [("insert", 1), ("update_postimage", 1), ("update_preimage", -1), ("delete", -1)]
)
def test_a_row_comes_or_goes_as_the_feed_says(kind, diff):
    row = {"_commit_version": 3, "id": 7, "_change_type": kind, "item": "tea", "_commit_timestamp": 1}
    assert change_of(row) == ((7, "tea"), diff)


@pytest.mark.parametrize(
    ("row", "error", "words"),
    [
        ({"id": 7, "_change_type": "upsert"}, ValueError, "_change_type must be one of insert, update_postimage"),
        ({"id": 7, "_change_type": None}, ValueError, "_change_type must be one of insert, update_postimage"),
        ({"id": 7, "item": "tea"}, TypeError, "a row with the columns id, item is not from a change feed"),
        ((7, "insert"), TypeError, r"needs the names of columns, but \(7, 'insert'\) has none"),
        (SimpleNamespace(id=7), TypeError, "needs the names of columns"),
    ],
)
def test_what_is_no_change_is_refused(row, error, words):
    with pytest.raises(error, match=words):
        change_of(row)
