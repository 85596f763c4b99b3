"""The kit kills `write_rows` at its steps, with a journal and without: its tables equal an undisturbed run's."""

import pytest

from tests.adapters.tables.kit import MODES
from tests.programs import printed
from tests.sampling import amount


@pytest.mark.sampled
@pytest.mark.parametrize("mode", MODES)
def test_kills_at_every_step(base, mode):
    report = printed("-m", "tests.adapters.tables.kit", base.kind, base.target, mode, amount(1, 60), timeout=1800)

    assert report.endswith("ok\n"), report
    assert int(report.split()[3]) > 100
