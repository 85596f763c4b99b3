"""The conformance kit for pytest: a fixture and a marker, available in every pytest run once the package is installed.

In an installed environment it is the top-level module `_pullstream_pytest`. Inside the package, it would import the
whole package, and trio, into unrelated test runs.
"""

from typing import Any, Protocol

import pytest


class Check(Protocol):
    """The kit as a function of modules: it raises `ConformanceError` with the first findings, or returns the report."""

    def __call__(self, *modules: Any, **settings: Any) -> Any:
        """Run modules against all kinds of partners; settings and expectations are those of the kit."""
        ...


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "conformance(**settings): settings of the fixture `conformance`, such as cells=500 or seed=7"
    )


@pytest.fixture
def conformance(request: pytest.FixtureRequest) -> Check:
    """Return the conformance kit as a function of modules that raises its findings."""
    from pullstream.conformance import conformance as kit  # noqa: PLC0415 - only for tests that use it

    marks = reversed(list(request.node.iter_markers("conformance")))
    usual = {name: setting for mark in marks for name, setting in mark.kwargs.items()}

    def check(*modules: Any, **settings: Any) -> Any:
        __tracebackhide__ = True
        return kit(*modules, **(usual | settings)).check()

    return check
