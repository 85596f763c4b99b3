"""The kit kills `write_rows` at its steps, with a journal and without: its tables are those of an undisturbed run."""

import subprocess
import sys

import pytest

from tests.adapters.tables.kit import MODES
from tests.sampling import amount


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
def test_the_kit_kills_it_at_its_steps(base, mode):
    command = [sys.executable, "-m", "tests.adapters.tables.kit", base.kind, base.target, mode, str(amount(2, 60))]
    report = subprocess.run(command, check=False, capture_output=True, text=True, timeout=1800)

    assert report.stdout.endswith("ok\n"), report.stdout + report.stderr
    assert int(report.stdout.split()[3]) > 100
