"""The conformance kit: runs any module against reference partners in every way a partner may behave.

In a test, `conformance(my_module).check()`; from a shell, `python -m pullstream check package.module:name`.
"""

from pullstream.conformance.cells import Cell
from pullstream.conformance.kit import conformance
from pullstream.conformance.ready import READY
from pullstream.conformance.report import ConformanceError, Finding, Report
from pullstream.conformance.subject import Subject

__all__ = ["READY", "Cell", "ConformanceError", "Finding", "Report", "Subject", "conformance"]


def __dir__() -> list[str]:
    return __all__
