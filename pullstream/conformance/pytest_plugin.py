"""The conformance kit for pytest: a fixture and a marker, there in every run of pytest once the package is installed.

It stands at the top of an installed environment, as `_pullstream_pytest`: in the package it would bring all of the
package, and trio, into test runs that have nothing to do with them.
"""

from typing import Any, Protocol

import pytest


class Check(Protocol):
    """The kit, given modules: raises `ConformanceError` with the first findings, or gives the report."""

    def __call__(self, *modules: Any, **settings: Any) -> Any:
        """Run modules against partners of every kind; settings and expectations are those of the kit."""
        ...


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", "conformance(**settings): settings of the fixture `conformance`, such as cells=500 or seed=7"
    )


@pytest.fixture
def conformance(request: pytest.FixtureRequest) -> Check:
    """The conformance kit, as a function of modules: it raises what it finds."""
    from pullstream.conformance import conformance as kit  # noqa: PLC0415 - only for tests that want it

    marks = reversed(list(request.node.iter_markers("conformance")))
    usual = {name: setting for mark in marks for name, setting in mark.kwargs.items()}

    def check(*modules: Any, **settings: Any) -> Any:
        __tracebackhide__ = True
        return kit(*modules, **(usual | settings)).check()

    return check
