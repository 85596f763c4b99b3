"""The conformance kit and `shake` for pytest: fixtures and markers, available once the package is installed.

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
    config.addinivalue_line("markers", "shake(**settings): settings of the fixture `shake`, such as seeds=5000")


@pytest.fixture
def conformance(request: pytest.FixtureRequest) -> Check:
    """Return the conformance kit as a function of modules that raises its findings."""
    from pullstream.conformance import conformance as kit  # noqa: PLC0415 - only for tests that use it

    usual = _settings(request, "conformance")

    def check(*modules: Any, **settings: Any) -> Any:
        __tracebackhide__ = True
        return kit(*modules, **(usual | settings)).check()

    return check


@pytest.fixture
def shake(request: pytest.FixtureRequest) -> Check:
    """Return `shake` as a function of what makes a pipeline; it raises the first difference."""
    from pullstream.shake import shake as simulate  # noqa: PLC0415 - only for tests that use it

    usual = _settings(request, "shake")

    def check(make: Any, **settings: Any) -> Any:
        __tracebackhide__ = True
        return simulate(make, **(usual | settings)).check()

    return check


def _settings(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    """Return the settings of a marker; those of the test itself come before those of its module."""
    marks = reversed(list(request.node.iter_markers(name)))
    return {name: setting for mark in marks for name, setting in mark.kwargs.items()}
