"""The conformance kit and `shake` for pytest: fixtures and markers, available once the package is installed.

In an installed environment it is the top-level module `_pullstream_pytest`. Inside the package, it would import the
whole package, and trio, into unrelated test runs.
"""

from importlib import import_module
from typing import Any, Protocol

import pytest


class Check(Protocol):
    """The kit as a function of modules: it raises `ConformanceError` with the first findings, or returns the report."""

    def __call__(self, *modules: Any, **settings: Any) -> Any:
        """Run modules against neighbours of every kind; settings and expectations are those of the kit."""
        ...


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "conformance(**settings): settings of the fixture `conformance`, such as cells=500 or seed=7"
    )
    config.addinivalue_line("markers", "shake(**settings): settings of the fixture `shake`, such as seeds=5000")


def _fixture(name: str, said: str) -> Any:
    """Make the fixture of the package and function `name`, with the settings of the marker of that name."""

    def made(request: pytest.FixtureRequest) -> Check:
        # The settings of the test itself come before those of its module.
        marks = reversed(list(request.node.iter_markers(name)))
        usual = {setting: value for mark in marks for setting, value in mark.kwargs.items()}

        def check(*tested: Any, **settings: Any) -> Any:
            __tracebackhide__ = True
            return getattr(import_module(f"pullstream.{name}"), name)(*tested, **(usual | settings)).check()

        return check

    made.__doc__ = said
    return pytest.fixture(name=name)(made)


conformance = _fixture("conformance", "Return the conformance kit as a function of modules that raises its findings.")
shake = _fixture("shake", "Return `shake`, to be called with what makes a pipeline; it raises the first difference.")
