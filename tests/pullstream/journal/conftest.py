"""Fixtures for the tests of journals."""

import pytest


@pytest.fixture
def path(tmp_path):
    """The journal's path."""
    return tmp_path / "run.journal"
