"""The package as a whole: its imports and its errors."""

import timely
import timely.theory
from tests.programs import printed


def test_timely_is_pure():
    unwanted = ("trio", "pullstream", "adapters", "asyncio", "timely.theory")
    code = f"import timely, sys; print([name for name in sys.modules if name.startswith({unwanted!r})])"
    assert printed("-c", code) == "[]\n"


def test_errors_share_a_base_class():
    parts = timely, timely.theory
    errors = [getattr(part, name) for part in parts for name in part.__all__ if name.endswith("Error")]
    assert len(errors) >= 8
    assert all(issubclass(error, timely.TimelyError) for error in errors)
