"""The requests of an edge, without a run: every order of the steps of up to three lanes.

`Model` does the same as the kernel, one step of a task at a time, and remembers only what the rules need. The search
visits all states and takes every step from each. A step that breaks a rule raises, and in a state without further steps
every request has been answered.
"""

from collections import deque
from copy import copy
from operator import or_

import pytest

from pullstream.engine.edge.requests import EdgeRequests
from pullstream.protocol import TRANSITIONS, Event, State

FAILED, REASON, RELEASE = Exception("the module's"), Exception("from below"), Exception("the release's")


class Ticket:
    def __init__(self):
        self.granted = False

    def set(self):
        self.granted = True

    def is_set(self):
        return self.granted


class Lane:
    """A task: its current step, and what it waits for."""

    def __init__(self, requests, *, handle=False):
        self.handle = handle
        self.at = "free"
        self.left = requests
        self.ticket = self.code = None
        self.cancelled = False
        self.stands = False
        self.below = False
        self.lost = False
        self.number = 0

    def key(self):
        granted = [None if ticket is None else ticket.granted for ticket in (self.ticket, self.code)]
        return self.at, self.left, *granted, self.cancelled, self.stands, self.below, self.lost


class Model:
    """One edge, the module above it, and some lanes that may take any allowed step at any moment."""

    def __init__(self, lanes, requests=2, *, handle=False):
        self.edge = EdgeRequests()
        self.lanes = [Lane(requests) for _ in range(lanes)] + [Lane(1, handle=True)] * handle
        self.sent = 0
        self.ended = False
        self.terminated = False
        self.told = None
        self.released = False

    def key(self):
        edge, lanes = self.edge, self.lanes
        owners = {id(lane.ticket): number for number, lane in enumerate(lanes)}
        sent = sorted(lane.number for lane in lanes if lane.at != "free")
        return (
            *(edge.state, edge.how, edge.failure, edge.busy, edge.working, edge.left is None, edge.lost, edge.below),
            *(edge.replaceable, edge.delivered, edge.undelivered),
            tuple(owners.get(id(ticket)) for ticket in edge.queue),
            tuple(lane.key() for lane in lanes),
            tuple(sent.index(lane.number) if lane.at != "free" else None for lane in lanes),
            *(self.ended, self.terminated, self.told, self.released),
        )

    def copied(self):
        """A copy in the same state."""
        other = copy(self)
        tickets = {}

        def ticket(old):
            if old is None:
                return None
            if id(old) not in tickets:
                tickets[id(old)] = new = Ticket()
                new.granted = old.granted
            return tickets[id(old)]

        other.lanes = [copy(lane) for lane in self.lanes]
        for lane in other.lanes:
            lane.ticket, lane.code = ticket(lane.ticket), ticket(lane.code)
        other.edge = copy(self.edge)
        other.edge.queue = deque(ticket(each) for each in self.edge.queue)
        other.edge.left = ticket(self.edge.left)
        return other

    # ---- steps

    def steps(self):
        """The steps that are possible now, as the number of a lane and the name of a step."""
        for number, lane in enumerate(self.lanes):
            yield from ((number, step) for step in self.steps_of(lane))

    def steps_of(self, lane):
        granted = lane.ticket is not None and lane.ticket.granted
        match lane.at:
            case "free" if lane.left and lane.handle:
                if self.edge.state is State.OPEN:
                    yield from ("switch off", "switch off with a reason")
            case "free" if lane.left:
                yield from ("ask", "abort", "error")
            case "waits":
                if lane.cancelled or granted:
                    yield "go on"
                if not (granted or lane.cancelled):
                    yield "cancel"
            case "shielded" | "stepped back" if granted:
                yield "go on"
            case "works":
                yield from ("value", "end", "fail", "cancelled")
                if self.edge.state is not State.OPEN:
                    yield "interrupted"
            case "closes":
                yield "let go"
            case "waits for the code":
                yield from ["let go"] * lane.code.granted
                if any(other.at == "works" for other in self.lanes):
                    yield "out of time"
            case "releases":
                yield from ("release", "fail to release")
            case "confirms":
                if granted:
                    yield "go on"
                elif not lane.below:
                    yield "cancel"

    def do(self, number, step):
        lane = self.lanes[number]
        getattr(self, "_" + step.replace(" ", "_"))(lane)

    def at_work(self):
        return any(lane.at == "works" and not lane.lost for lane in self.lanes)

    # ---- asks

    def _ask(self, lane):
        lane.left -= 1
        self.sent += 1
        lane.number, lane.cancelled = self.sent, False
        edge = self.edge
        if edge.state is State.OPEN and not edge.busy:
            self.begin(lane)
        else:
            self.stand_in_line(lane)

    def stand_in_line(self, lane):
        if self.edge.settled:
            self.terminal(lane)
            return
        lane.ticket, lane.at = Ticket(), "waits"
        self.edge.enqueue(lane.ticket)

    def begin(self, lane):
        assert not any(other.at == "works" and not other.lost for other in self.lanes), (
            "R4: two asks are served at once"
        )
        self.edge.begin()
        lane.at = "works"

    def _go_on(self, lane):
        edge = self.edge
        if lane.at == "confirms":
            edge.withdraw(lane.ticket)
            self.confirmed(lane)
        elif lane.at == "waits" and lane.cancelled and self.close(lane, Event.ABORT):
            lane.stands = True
        elif lane.at == "waits" and not lane.ticket.granted:
            lane.at = "shielded"
        elif lane.at == "waits" and edge.state is State.OPEN:
            assert not lane.cancelled
            self.begin(lane)
        elif edge.state is State.CLOSING:
            self.requeue(lane)
        else:
            self.answer(lane)

    def _cancel(self, lane):
        if lane.at == "confirms":
            self.edge.withdraw(lane.ticket)
            self.free(lane)
        else:
            lane.cancelled = True

    def _value(self, lane):
        if self.edge.state is not State.OPEN:
            self.code_is_back(lane)
            return
        self.in_turn(lane)
        assert not self.terminated, "R5: a value after a termination"
        self.edge.answered()
        self.free(lane)

    def _end(self, lane, event=Event.END, failure=None):
        if self.edge.state is State.OPEN:
            self.edge.code_returned()
            assert self.close(lane, event, failure)
        else:
            self.code_is_back(lane)

    def _fail(self, lane):
        self._end(lane, Event.FAIL, FAILED)

    def _cancelled(self, lane):
        lane.cancelled = True
        self._end(lane, Event.ABORT)

    def _interrupted(self, lane):
        self.code_is_back(lane)

    def code_is_back(self, lane):
        if self.edge.reclaim():
            self.stand_in_line(lane)
        elif self.edge.state is State.CLOSING:
            self.requeue(lane)
        else:
            self.answer(lane)

    def requeue(self, lane):
        lane.ticket, lane.at = Ticket(), "stepped back"
        self.edge.requeue(lane.ticket)

    def answer(self, lane):
        self.edge.answered()
        self.terminal(lane)

    def terminal(self, lane):
        assert self.ended, "R6, R10: the end is seen before the release"
        self.in_turn(lane)
        if lane.cancelled:
            self.edge.overrule(None, decides=False)
        else:
            self.edge.delivered = True
        if not lane.cancelled or not (self.terminated or self.edge.failure or self.asking(lane)):
            ending = self.edge.failure or "done"
            assert self.told in (None, ending), f"R3: two endings, {self.told} and {ending}"
            self.told = ending
        self.free(lane)

    def asking(self, but):
        """Whether an ask of another lane is outstanding."""
        idle = ("free", "confirms")
        return any(not (lane is but or lane.at in idle or lane.below or lane.handle) for lane in self.lanes)

    # ---- a handle, which ends the stream from outside

    def _switch_off(self, lane, event=Event.END, failure=None):
        lane.left -= 1
        self.edge.replaceable = True
        assert self.close(lane, event, failure)

    def _switch_off_with_a_reason(self, lane):
        self._switch_off(lane, Event.FAIL, FAILED)

    def in_turn(self, lane):
        older = [other for other in self.lanes if other.at != "free" and not other.lost and other.number < lane.number]
        assert lane.lost or not any(other.at != "confirms" for other in older), "R1: a request before it waits"

    def free(self, lane):
        lane.at, lane.ticket, lane.stands, lane.below, lane.lost = "free", None, False, False, False
        lane.code = None

    # ---- terminations

    def _abort(self, lane):
        self.terminate(lane, Event.ABORT, None)

    def _error(self, lane):
        self.terminate(lane, Event.ERROR, REASON)

    def terminate(self, lane, event, reason):
        lane.left -= 1
        self.sent += 1
        lane.number, lane.cancelled = self.sent, False
        edge = self.edge
        if self.told is None and not self.terminated and not self.asking(lane):
            # R3, R5: this is the first end that is seen below.
            self.told = reason or "done"
        self.terminated = True
        if self.close(lane, event, reason, below=True):
            lane.below, lane.stands = True, edge.busy
            if edge.busy:
                lane.ticket = Ticket()
                edge.enqueue(lane.ticket)
            return
        edge.overrule(reason)
        if edge.settled:
            self.confirmed(lane)
        else:
            lane.ticket, lane.at = Ticket(), "confirms"
            edge.enqueue(lane.ticket)

    def close(self, lane, event, failure=None, *, below=False):
        if not self.edge.terminate(event, failure, below=below):
            return False
        lane.at = "closes"
        return True

    def _let_go(self, lane):
        if self.edge.working:
            lane.code = self.edge.left = Ticket()
            lane.at = "waits for the code"
        else:
            lane.at = "releases"

    def _out_of_time(self, lane):
        for other in self.lanes:
            other.lost = other.lost or other.at == "works"
        lane.at = "releases"

    def _release(self, lane, trouble=None):
        edge = self.edge
        assert not self.released, "R10: released twice"
        assert not self.at_work(), "R10: its code is under way"
        self.released = True
        if trouble is not None and not edge.below:
            edge.fail(trouble)
        edge.give_up()
        self.ended = True
        edge.released()
        if edge.failure is not None:
            # A cancelled ask that carried the end out raises the failed release instead.
            lane.cancelled = False
        if lane.handle:
            self.free(lane)
        elif lane.stands:
            lane.at = "confirms" if lane.below else "shielded"
        elif lane.below:
            self.confirmed(lane)
        else:
            self.answer(lane)

    def _fail_to_release(self, lane):
        self._release(lane, RELEASE)

    def confirmed(self, lane):
        assert self.ended, "R6: confirmed before the release"
        older = [other for other in self.lanes if other.number < lane.number and not other.lost]
        assert all(other.at in ("free", "confirms") for other in older), "R5: confirmed while an ask before it waits"
        self.free(lane)


def search(lanes, requests=2, *, handle=False):
    """Visit every state; returns the number of states and of the steps between them."""
    begin = Model(lanes, requests, handle=handle)
    seen, todo, taken = {begin.key()}, deque([begin]), 0
    while todo:
        model = todo.popleft()
        steps = list(model.steps())
        # Code that was given up may never return; no other lane waits for it.
        stuck = [lane.lost and lane.at == "works" for lane in model.lanes]
        if all(stuck[number] for number, _ in steps):
            free = [lane.at == "free" for lane in model.lanes]
            assert all(map(or_, free, stuck)), "R1: a request is never answered"
        for step in steps:
            after = model.copied()
            after.do(*step)
            taken += 1
            key = after.key()
            if key not in seen:
                seen.add(key)
                todo.append(after)
    return len(seen), taken


def test_every_state_of_two_lanes():
    """No order of asks, answers, ends, failures, cancellations, terminations and releases breaks a rule."""
    states, steps = search(lanes=2, requests=1)
    print(f"two lanes: {states} states, {steps} steps")
    assert states > 100


@pytest.mark.parametrize(("lanes", "requests"), [(1, 2), (2, 1)])
def test_every_state_with_a_handle(lanes, requests):
    """A handle may end the stream at any moment; the requests still see one end (R3, R5)."""
    states, steps = search(lanes, requests, handle=True)
    print(f"{lanes} lanes and a handle, {requests} requests each: {states} states, {steps} steps")


@pytest.mark.slow
@pytest.mark.parametrize(("lanes", "requests"), [(1, 4), (2, 2), (3, 1), (2, 3), (3, 2)])
def test_every_state_of_more(lanes, requests):
    """The same, for three lanes, and for lanes that ask again."""
    states, steps = search(lanes, requests)
    print(f"{lanes} lanes, {requests} requests each: {states} states, {steps} steps")


# ---- breakages, which the search must notice


def passes_to_nobody(self):
    self.busy = self.working = False


def keeps_the_turn(self):
    self.working = False
    if self.queue:
        self._grant()


def steps_back_to_the_end(self, ticket):
    self.code_returned()
    self.busy = False
    self.queue.append(ticket)


def steps_back_and_keeps_the_turn(self, ticket):
    self.code_returned()
    self.queue.appendleft(ticket)


def does_not_say_that_it_is_back(self):
    self.working = False


def comes_back_working(self):
    if self.left is not None:
        self.left.set()
        self.left = None


def stands_first(self, ticket):
    self.queue.appendleft(ticket)


def withdraws_with_the_turn(self, ticket):
    if not ticket.is_set():
        self.queue.remove(ticket)


def withdraws_and_stays(self, ticket):
    if ticket.is_set():
        self.answered()


def grants_the_last(self):
    self.busy = True
    self.queue.pop().set()


def grants_and_is_free(self):
    self.queue.popleft().set()


def works_without_a_turn(self):
    self.working = True


def works_unnoticed(self):
    self.busy = True


def gives_nobody_up(self):
    pass


def gives_up_for_all(self):
    if self.working:
        self.busy = self.working = False
        self.left = None


def is_never_found_again(self):
    return False


def lets_the_last_termination_decide(self, event, failure=None, *, below=False):
    first = self.state is State.OPEN
    self.state = TRANSITIONS[self.state, event]
    self.how, self.below = event, below
    self.fail(failure)
    return first


def is_always_the_first(self, event, failure=None, *, below=False):
    first = self.state is State.OPEN
    self.state = TRANSITIONS[self.state, event]
    if first:
        self.how, self.below = event, below
        self.fail(failure)
    return True


def does_not_close(self, event, failure=None, *, below=False):
    first = self.state is State.OPEN
    if first:
        self.how, self.below = event, below
        self.fail(failure)
    return first


def overrules_nothing(self, failure, *, decides=True):
    pass


def overrules_an_end_that_was_seen(self, failure, *, decides=True):
    if self.replaceable:
        self.fail(failure)


def releases_for_nobody(self):
    self.state = TRANSITIONS[self.state, Event.RELEASED if self.failure is None else Event.RELEASED_FAILED]


def releases_for_two(self):
    self.state = TRANSITIONS[self.state, Event.RELEASED if self.failure is None else Event.RELEASED_FAILED]
    if self.queue:
        self._grant()


def is_released_open(self):
    self.state = State.OPEN
    if self.queue and not self.busy:
        self._grant()


BREAKAGES = [
    *(("answered", broken) for broken in (passes_to_nobody, keeps_the_turn)),
    *(("requeue", broken) for broken in (steps_back_to_the_end, steps_back_and_keeps_the_turn)),
    *(("code_returned", broken) for broken in (does_not_say_that_it_is_back, comes_back_working)),
    ("enqueue", stands_first),
    *(("withdraw", broken) for broken in (withdraws_with_the_turn, withdraws_and_stays)),
    *(("_grant", broken) for broken in (grants_the_last, grants_and_is_free)),
    *(("begin", broken) for broken in (works_without_a_turn, works_unnoticed)),
    *(("give_up", broken) for broken in (gives_nobody_up, gives_up_for_all)),
    ("reclaim", is_never_found_again),
    *(("terminate", broken) for broken in (lets_the_last_termination_decide, is_always_the_first, does_not_close)),
    *(("released", broken) for broken in (releases_for_nobody, releases_for_two, is_released_open)),
    *(("overrule", broken) for broken in (overrules_nothing, overrules_an_end_that_was_seen)),
    ("settled", property(lambda self: self.over)),
]


@pytest.mark.parametrize(
    ("method", "broken"),
    BREAKAGES,
    ids=lambda part: part if isinstance(part, str) else getattr(part, "__name__", "property"),
)
def test_a_broken_rule_is_noticed(monkeypatch, method, broken):
    """The search takes every transition: a broken one leads to a state that a rule forbids or that cannot be."""
    monkeypatch.setattr(EdgeRequests, method, broken)
    for lanes, requests, handle in ((2, 1, False), (1, 2, True), (2, 2, False), (3, 1, False)):
        try:
            search(lanes, requests, handle=handle)
        except (AssertionError, KeyError, IndexError, ValueError):
            return
    pytest.fail("not noticed")
