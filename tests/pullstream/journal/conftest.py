"""What the tests of journals share."""

import pytest


@pytest.fixture
def path(tmp_path):
    """Where the journal is."""
    return tmp_path / "run.journal"
