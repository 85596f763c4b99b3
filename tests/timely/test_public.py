"""The package as a whole: what it offers, and what it keeps out."""

import subprocess
import sys

import timely


def test_everything_offered_is_there_and_described():
    """Every public name exists, once, and says what it is."""
    assert len(set(timely.__all__)) == len(timely.__all__)
    for name in timely.__all__:
        offered = getattr(timely, name)
        assert type(offered).__doc__ or offered.__doc__, name


def test_timely_is_pure():
    """Importing it brings in no scheduler and neither of the packages built on it."""
    unwanted = {"trio", "pullstream", "adapters", "asyncio"}
    code = f"import timely, sys; print(sorted({{n.split('.')[0] for n in sys.modules}} & {unwanted!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_error_is_of_one_family():
    """One `except TimelyError` catches all that `timely` raises by itself."""
    errors = [getattr(timely, name) for name in timely.__all__ if name.endswith("Error")]
    assert len(errors) >= 8
    assert all(issubclass(error, timely.TimelyError) for error in errors)
