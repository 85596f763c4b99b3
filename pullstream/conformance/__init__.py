"""The conformance kit: runs any module against neighbours that behave in every permitted way.

In a test, `conformance(my_module).check()`; from a shell, `python -m pullstream check package.module:name`.
`kills` tests that a sink commits each time exactly once.
"""

from pullstream.conformance.cells import Cell as Cell
from pullstream.conformance.killing import KillReport as KillReport, kills as kills
from pullstream.conformance.kit import conformance as conformance
from pullstream.conformance.ready import READY as READY
from pullstream.conformance.report import ConformanceError as ConformanceError, Finding as Finding, Report as Report
from pullstream.conformance.subject import Subject as Subject
from pullstream.late import publish

publish(__name__)
