"""The conformance kit: runs any module against neighbours that behave in every permitted way.

In a test, `conformance(my_module).check()`; from a shell, `python -m pullstream check package.module:name`.
`kills` tests that a sink commits each time exactly once.
"""

from pullstream.conformance.cells import Cell
from pullstream.conformance.killing import KillReport, kills
from pullstream.conformance.kit import conformance
from pullstream.conformance.ready import READY
from pullstream.conformance.report import ConformanceError, Finding, Report
from pullstream.conformance.subject import Subject

__all__ = ["READY", "Cell", "ConformanceError", "Finding", "KillReport", "Report", "Subject", "conformance", "kills"]


def __dir__() -> list[str]:
    return __all__
