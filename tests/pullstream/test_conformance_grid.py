"""The ready-made modules, ended in every way, at every position: nothing breaks a rule, hangs or leaks."""

import pytest

from pullstream.conformance import READY, conformance
from pullstream.conformance.ready import SINKS

SAMPLE = 60


@pytest.mark.parametrize("subject", READY, ids=lambda subject: subject.name)
def test_a_sample_of_the_grid(subject):
    """A sample of the ways in which a module's partners may behave, the checker on both of its faces."""
    assert conformance(subject, cells=SAMPLE).check().cells.total() > 0


@pytest.mark.slow
@pytest.mark.parametrize("subject", READY, ids=lambda subject: subject.name)
def test_the_full_grid(subject, capsys):
    """All of them; the number of cells is printed."""
    report = conformance(subject, cells=None)
    with capsys.disabled():
        print(f"\n{report.cells.total():,} cells of {subject.name}")
    report.check()


def test_the_grid_is_large():
    """The whole is tens of thousands of cells: it has not shrunk unnoticed."""
    from pullstream.conformance.kit import Trial

    sizes = {subject.name: len(Trial(subject).cells) for subject in READY}
    assert sum(sizes.values()) > 100_000
    assert min(sizes[subject.name] for subject in READY if subject not in SINKS) > 100
