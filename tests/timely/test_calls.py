"""Call stacks as times (000, section 3.4); `test_model_recursion` tests their comparison."""

import pytest

from timely import Antichain, CycleError, GraphError, TimeDomainError
from timely.theory import CallTime
from timely.theory.model import Body

EDGES = (("in", "a"), ("a", "c"), ("c", "out"), ("a", "out"))
BODY = Body(("a",), ("c",), EDGES)


def test_call_times_are_ordered_per_node():
    first, inner = CallTime(BODY, "a"), CallTime(BODY, "a", ("c",))
    out, returning = CallTime(BODY, "out"), CallTime(BODY, "out", ("c",))
    assert first < inner
    assert not CallTime(BODY, "in") <= out
    assert Antichain([inner, first]) == Antichain([first])
    assert Antichain([out, returning]) == Antichain([returning])
    with pytest.raises(TimeDomainError):
        assert first <= CallTime(Body(("a",), ("c",), (*EDGES, ("in", "out"))), "a")


def test_times_outside_the_body_are_refused():
    """Stacks cannot be compared in a cyclic body, or with nodes and calls that the body does not have."""
    cyclic = Body(("a",), ("c",), (("in", "a"), ("a", "c"), ("c", "a"), ("a", "out")))
    with pytest.raises(CycleError, match="acyclic"):
        CallTime(cyclic, "in", ("c", "c"))
    with pytest.raises(GraphError, match="nowhere"):
        CallTime(BODY, "nowhere")
    with pytest.raises(GraphError, match="x"):
        CallTime(BODY, "in", ("x",))
