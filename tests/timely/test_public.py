"""The package as a whole: what it offers, and what it keeps out."""

import subprocess
import sys

import timely
import timely.theory


def test_everything_offered_is_there_and_described():
    """Every public name exists, in one of the two parts, and says what it is."""
    names = [*timely.__all__, *timely.theory.__all__]
    assert len(set(names)) == len(names)
    for part in timely, timely.theory:
        for name in part.__all__:
            offered = getattr(part, name)
            assert type(offered).__doc__ or offered.__doc__, name


def test_what_runs_does_without_the_theory():
    """`timely.theory` imports from `timely`, nothing the other way: it is not even loaded."""
    code = "import timely, sys; print([name for name in sys.modules if name.startswith('timely.theory')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_timely_is_pure():
    """Importing it brings in no scheduler and neither of the packages built on it."""
    unwanted = {"trio", "pullstream", "adapters", "asyncio"}
    code = f"import timely, sys; print(sorted({{n.split('.')[0] for n in sys.modules}} & {unwanted!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_error_is_of_one_family():
    """One `except TimelyError` catches all that `timely` raises by itself."""
    parts = timely, timely.theory
    errors = [getattr(part, name) for part in parts for name in part.__all__ if name.endswith("Error")]
    assert len(errors) >= 8
    assert all(issubclass(error, timely.TimelyError) for error in errors)
