"""Fixtures for all tests of the adapters: folders and disks, a wait for an idle Spark, rows that stay in Arrow.

No test requires an end within seconds, because a busy machine may take much longer. Instead, a test cancels work that
would otherwise run for an hour.
"""

import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import pytest

from tests.programs import wait


@pytest.fixture
def public_folder():
    """A folder that other users can reach; pytest closes its own to them whenever a session begins."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.fixture
def disk(tmp_path):
    """A disk of eight megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if shutil.which("mount") is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def until_idle(session):
    """Wait until Spark runs no job; fail if one continues."""
    return partial(wait, session.sparkContext.statusTracker().getActiveJobsIds)


@pytest.fixture
def no_rows(monkeypatch):
    """Make it an error to create Python objects from rows in Arrow."""
    from adapters.arrow import arrow_rows

    def refused(*_):
        raise AssertionError("rows were created")

    monkeypatch.setattr(arrow_rows, "_rows", refused)
