"""Capabilities and notifications: rights held, passed on, given up; requests as sets."""

import gc
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timely import (
    BEGINNING,
    Antichain,
    CapabilityError,
    GraphBuilder,
    Product,
    Source,
    Target,
    Tracker,
    less_equal,
    less_than,
)
from timely.theory import Capability, CapabilitySet, Notificator, Output


@pytest.fixture
def output():
    """An output that counts what it is told in `told`, and is checked to end with nothing held."""
    told = {}

    def report(time, delta):
        told[time] = told.get(time, 0) + delta
        assert told[time] >= 0

    made = Output("parse", report)
    made.told = told
    yield made
    assert not made.held
    assert not any(told.values())


def test_delayed_keeps_the_original(output):
    """A delayed capability is one more; the first stays at its time."""
    with output.initial(3) as first, first.delayed(5) as second:
        assert (first.time, second.time) == (3, 5)
        assert output.held == {3: 1, 5: 1}


def test_downgrade_gives_up_earlier_times(output):
    """Afterwards only the later time is held; going back is refused and changes nothing."""
    with output.initial() as capability:
        assert capability.time is BEGINNING
        capability.downgrade(5)
        with pytest.raises(CapabilityError, match=r"parse at 5 gives no right to 4"):
            capability.downgrade(4)
        with pytest.raises(CapabilityError):
            capability.delayed(4)
        assert output.held == {5: 1}


def test_the_right_never_lapses_while_downgrading():
    """Whoever listens sees the new time come before the old one goes."""
    told = []
    with Output("parse", lambda *change: told.append(change)).initial(1) as capability:
        capability.downgrade(2)
        assert told == [(1, 1), (2, 1), (1, -1)]


def test_a_dropped_capability_is_of_no_use(output):
    """Dropping twice is harmless; everything else is an error naming the output."""
    capability = output.initial(3)
    capability.drop()
    capability.drop()
    assert not capability.held
    for use in (lambda: capability.time, lambda: capability.delayed(4), lambda: capability.downgrade(4)):
        with pytest.raises(CapabilityError, match="parse was dropped"):
            use()


def test_an_error_drops_the_capability(output):
    """Leaving the block by an exception gives the right up, too."""
    with pytest.raises(ZeroDivisionError), output.initial(3):
        raise ZeroDivisionError


def test_messages_need_a_capability(output):
    """A message is covered by a capability at or before its time, at that very output."""
    with output.initial(3):
        output.check(3)
        output.check(7)
        with pytest.raises(CapabilityError, match=r"parse may not send at 2: its held capabilities are 3"):
            output.check(2)
    with pytest.raises(CapabilityError, match="none"):
        output.check(7)


def test_a_forgotten_capability_warns_and_explain_names_it():
    """Garbage-collected while held it warns, keeps holding, and the tracker says where."""
    builder = GraphBuilder()
    builder.add_edge(Source(builder.add_node("numbers", 0, 1)), Target(builder.add_node("show", 1, 0)))
    graph = builder.build()
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
    """Of what is put in only the minimal times are held, once each; downgrading holds exactly what is asked."""
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


def test_capability_sets_are_of_one_output(output):
    """A capability of another output is refused."""
    with output.initial(3) as one, Output("other", lambda *_: None).initial(4) as two:
        held = CapabilitySet([one])
        with pytest.raises(CapabilityError, match="does not belong"):
            held.insert(two)
        with held.delayed(9) as third:
            assert isinstance(third, Capability)
            assert third.output is output


def test_requests_are_a_set(output):
    """Asking twice is asking once, and the second capability is given back."""
    notificator = Notificator()
    notificator.request(3, output.initial(3))
    notificator.request(3, output.initial(3))
    assert output.held == {3: 1}
    (notification,) = notificator.ready(Antichain())
    assert notification.time == 3
    notification.capability.drop()
    assert list(notificator.ready(Antichain())) == []


def test_wait_for_one_time_speak_at_a_later(output):
    """A requirement and a capability may differ: delivery depends on the first, the right is the second."""
    notificator = Notificator()
    notificator.request(3, output.initial(7))
    assert list(notificator.ready(Antichain([3]))) == []
    (notification,) = notificator.ready(Antichain([4]))
    assert (notification.time, notification.capability.time) == (3, 7)
    notification.capability.drop()


def test_a_request_that_waits_for_itself_is_refused(output):
    """A capability before the time waited for would keep that time from completing."""
    with output.initial(3) as capability, pytest.raises(CapabilityError, match="waits for itself"):
        Notificator().request(5, capability)


def test_requests_made_during_delivery_join_in():
    """A request made while another is handled is delivered with the rest, in its order."""
    notificator, seen = Notificator(), []
    for time in (9, 1, 5):
        notificator.request(time)
    for notification in notificator.ready(Antichain([8])):
        seen.append(notification.time)
        if notification.time == 1:
            notificator.request(3)
    assert seen == [1, 3, 5]
    assert notificator.pending == [9]
    notificator.drop()
    assert notificator.pending == []


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda p: Product(*p))), st.data())
def test_delivery_is_complete_and_least_first(times, data):
    """Everything complete is delivered, nothing else, and never a later time before an earlier one."""
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
