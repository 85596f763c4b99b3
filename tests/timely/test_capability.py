"""Capabilities and notifications: holding, passing on and giving up rights; requests are sets."""

import gc
import itertools

import pytest
from hypothesis import given, strategies as st

from tests.timely.building import building
from timely import (
    BEGINNING,
    Antichain,
    CapabilityError,
    Product,
    Source,
    Target,
    Tracker,
    less_equal,
    less_than,
)
from timely.theory import CapabilitySet, Notificator, Output


@pytest.fixture
def output():
    """An output with the counts of its reports in `counts`; at the end it must hold nothing."""
    counts = {}

    def report(time, delta):
        counts[time] = counts.get(time, 0) + delta
        assert counts[time] >= 0

    made = Output("parse", report)
    made.counts = counts
    yield made
    assert not made.held
    assert not any(counts.values())


def test_downgrade_gives_up_earlier_times(output):
    with output.initial() as capability:
        assert capability.time is BEGINNING
        capability.downgrade(5)
        with pytest.raises(CapabilityError, match=r"parse at 5 gives no right to 4"):
            capability.downgrade(4)
        with pytest.raises(CapabilityError):
            capability.delayed(4)
        assert output.held == {5: 1}


def test_a_dropped_capability_is_unusable(output):
    capability = output.initial(3)
    capability.drop()
    capability.drop()
    assert not capability.held
    for use in (lambda: capability.time, lambda: capability.delayed(4), lambda: capability.downgrade(4)):
        with pytest.raises(CapabilityError, match="parse was dropped"):
            use()


def test_messages_need_a_capability(output):
    with output.initial(3):
        output.check(3)
        output.check(7)
        with pytest.raises(CapabilityError, match=r"parse may not send at 2: its held capabilities are 3"):
            output.check(2)
    with pytest.raises(CapabilityError, match="none"):
        output.check(7)


def test_a_forgotten_capability_warns_and_explain_names_it():
    graph = building({"numbers": (0, 1), "show": (1, 0)}, [(0, 1)]).build()
    tracker = Tracker(graph)
    show = graph.place(Target(1))
    tracker.observe(show)
    capability = Output.at(tracker, Source(0)).initial(4)
    assert tracker.frontier(show) == Antichain([4])
    with pytest.warns(ResourceWarning, match="numbers, output at 4 was forgotten"):  # noqa: PT031
        del capability
        gc.collect()
    (blocker,) = tracker.explain(show, 10)
    assert (blocker.location, blocker.time) == (Source(0), 4)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6), st.data())
def test_capability_sets_hold_the_minimal_times(pairs, data):
    output = Output("parse", lambda *_: None)
    with CapabilitySet(output.initial(Product(*pair)) for pair in pairs) as held:
        frontier = Antichain(Product(*pair) for pair in pairs)
        assert held.frontier == frontier
        assert output.held == dict.fromkeys(frontier, 1)
        wanted = Antichain(
            Product(*p) for p in data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=3))
        )
        if frontier <= wanted:
            held.downgrade(wanted)
            assert held.frontier == wanted
        else:
            with pytest.raises(CapabilityError, match="covers"):
                held.downgrade(wanted)
            assert held.frontier == frontier
        assert set(output.held) == set(held.frontier)
        assert all(count == 1 for count in output.held.values())
    assert not output.held


def test_a_request_that_waits_for_itself_is_refused(output):
    """A capability before the requested time would keep that time from completing."""
    with output.initial(3) as capability, pytest.raises(CapabilityError, match="waits for itself"):
        Notificator().request(5, capability)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda p: Product(*p))), st.data())
def test_delivery_is_complete_and_least_first(times, data):
    frontier = Antichain(
        data.draw(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda p: Product(*p))))
    )
    notificator = Notificator()
    for time in times:
        notificator.request(time)
    seen = [notification.time for notification in notificator.ready(frontier)]
    assert set(seen) == {time for time in times if not frontier.less_equal(time)}
    assert len(seen) == len(set(seen))
    assert not any(less_than(later, earlier) for earlier, later in itertools.combinations(seen, 2))
    assert all(any(less_equal(e, time) for e in frontier) for time in notificator.pending)
