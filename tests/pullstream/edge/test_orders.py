"""One edge of a real run, with its events in every order, at the resolution of one step of the scheduler.

Wherever trio has several tasks to run, and wherever an event comes from outside, `Order` decides which is first. It
tries all decisions, one run after another, or draws them at random from a seed. A run depends on these decisions only:
its clock is virtual.
"""

from collections import deque
from contextlib import suppress
from functools import partial
from itertools import combinations, pairwise
from random import Random
from typing import Any

import attrs
import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from tests.pullstream.common import READY, Unseen, in_virtual_time
from tests.sampling import amount


class Order:
    """Decides what happens first; each run then tries the next decisions, until all are tried."""

    def __init__(self, random=None):
        self.random = random
        self.decided = []
        self.script = []

    def choose(self, count):
        if count < 2:
            return 0
        at = len(self.decided)
        if at < len(self.script):
            choice = self.script[at]
        else:
            choice = 0 if self.random is None else self.random.randrange(count)
        self.decided.append((choice, count))
        return choice

    def again(self):
        """Whether decisions are left to try."""
        decided, self.decided = self.decided, []
        while decided and decided[-1][0] + 1 == decided[-1][1]:
            decided.pop()
        self.script = [choice for choice, _ in decided]
        if decided:
            self.script[-1] += 1
        return bool(decided)


class Runnable(deque):
    """The tasks that trio runs next, in the decided order."""

    order = None

    def __iter__(self):
        # Sorted by their start, so that the same decisions give the same run.
        tasks = sorted(super().__iter__(), key=lambda task: task._counter)
        while tasks:
            yield tasks.pop(0 if self.order is None else self.order.choose(len(tasks)))


class NoDice:
    """Replaces the random numbers by which trio reverses the order."""

    def random(self):
        return 1.0

    def shuffle(self, tasks):
        pass


@pytest.fixture(autouse=True)
def no_dice(monkeypatch):
    monkeypatch.setattr(trio._core._run, "_r", NoDice())
    # Hypothesis has trio sort its tasks, which would undo what is decided.
    monkeypatch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", False)


def decide_the_order(order):
    """Have `order` decide from now on which task comes first."""
    runner = trio._core._run.GLOBAL_RUN_CONTEXT.runner
    runner.runq = runnable = Runnable(runner.runq)
    runnable.order = order


@attrs.define(eq=False)
class Ask:
    lane: int
    sent: int
    answered: int = -1
    outcome: Any = None


@attrs.define(eq=False)
class Termination:
    reason: Any
    sent: int
    outstanding: list
    confirmed: int = -1
    outcome: Any = None


@attrs.define
class Record:
    """The events of a run, numbered in their order."""

    release_failure: Any = None
    began: float = attrs.field(factory=trio.current_time)
    now: int = 0
    asks: list = attrs.field(factory=list)
    terminations: list = attrs.field(factory=list)
    acquired: list = attrs.field(factory=list)
    released: list = attrs.field(factory=list)
    reasons: list = attrs.field(factory=list)
    producing: int = 0
    ended_below: bool = False
    ended: bool = False
    failed: Any = None

    def tick(self):
        self.now += 1
        return self.now


@ps.source
class Scripted(Kernel):
    """Answers what the gate lets out; acquiring and releasing take some steps."""

    def __init__(self, record, gate, steps):
        self.record, self.gate, self.steps = record, gate, steps

    async def acquire(self):
        for _ in range(self.steps):
            await trio.lowlevel.checkpoint()
        self.record.acquired.append(self.record.tick())

    async def produce(self, limit):
        record = self.record
        record.producing += 1
        assert record.producing == 1, "R4: two asks are served at once"
        try:
            answer = await self.gate.take()
        finally:
            record.producing -= 1
        if isinstance(answer, Unseen):
            record.failed = answer
            raise answer
        record.ended = answer is ps.DONE
        return answer

    async def dismiss(self, reason):
        self.record.reasons.append(reason)

    async def release(self):
        assert not self.record.producing, "R10: released while its code is under way"
        for _ in range(self.steps):
            await trio.lowlevel.checkpoint()
        self.record.released.append(self.record.tick())
        if self.record.release_failure is not None:
            raise self.record.release_failure


@ps.transformer
class Through(Kernel):
    """Passes everything on without waiting: a module then ends the edge upstream."""

    traits = Traits(waits=False, trusted=True)

    async def produce(self, limit):
        return await self.upstream.ask(limit)


class Gate:
    """Lets answers out one at a time."""

    def __init__(self):
        self.given = deque()
        self.arrival = trio.Event()

    def give(self, answer):
        self.given.append(answer)
        self.arrival.set()

    async def take(self):
        while not self.given:
            self.arrival = trio.Event()
            await self.arrival.wait()
        return self.given.popleft()


EVENTS = (
    *("ask 0", "ask 1", "ask 2", "again 0", "again 1", "again 2", "cancel 0", "cancel 1", "cancel 2", "cancel all"),
    *("abort 2", "error 1", "indicate 0", "value", "value", "value", "end", "fail"),
)


class Edge:
    """A sink that asks on three lanes as the events say, and records the outcomes."""

    def __init__(self, upstream, record, gate):
        self.lanes = [upstream, upstream.lane(), upstream.lane()]
        self.record, self.gate = record, gate
        self.scopes = {}
        self.reason = Unseen("from below")

    def happen(self, event, nursery):
        match event.split():
            case ["ask" | "again" as how, lane] if int(lane) not in self.scopes:
                self.scopes[int(lane)] = trio.CancelScope()
                nursery.start_soon(self.ask, int(lane), how == "again")
            case ["cancel", "all"]:
                self.record.ended_below = True
                for scope in self.scopes.values():
                    scope.cancel()
            case ["cancel", lane] if int(lane) in self.scopes:
                self.record.ended_below = True
                self.scopes[int(lane)].cancel()
            case ["abort", lane]:
                nursery.start_soon(self.terminate, int(lane), None)
            case ["error", lane]:
                nursery.start_soon(self.terminate, int(lane), self.reason)
            case ["indicate", lane]:
                self.record.ended_below = True
                self.lanes[int(lane)].abort_nowait()
            case ["value"]:
                self.gate.give(ps.Batch(0, [0]))
            case ["end"]:
                self.gate.give(ps.DONE)
            case ["fail"]:
                self.gate.give(Unseen("the module's"))

    async def ask(self, number, again=False):
        with self.scopes[number]:
            while isinstance(await self.ask_once(number), ps.Batch) and again:
                pass
        self.scopes.pop(number, None)

    async def ask_once(self, number):
        record, lane = self.record, self.lanes[number]
        ask = Ask(number, record.tick())
        record.asks.append(ask)
        try:
            ask.outcome = await lane.ask()
        except trio.Cancelled:
            ask.outcome = "cancelled"
            raise
        except Unseen as exc:
            ask.outcome = exc
        finally:
            ask.answered = record.tick()
        return ask.outcome

    async def terminate(self, number, reason):
        record, lane = self.record, self.lanes[number]
        record.ended_below = True
        # A lane that has seen the end sends nothing more (R9).
        seen = any(
            ask.lane == number and not isinstance(ask.outcome, ps.Batch) and ask.answered > 0 for ask in record.asks
        )
        outstanding = [] if seen else [ask for ask in record.asks if ask.answered < 0]
        sent = Termination(reason, record.tick(), outstanding)
        record.terminations.append(sent)
        try:
            sent.outcome = await (lane.abort() if reason is None else lane.error(reason))
        except Unseen as exc:
            sent.outcome = exc
        sent.confirmed = record.tick()


async def play(order, events, *, steps, fails, stages=0, ready=(), check, asked_before=0):
    """Play the events in the decided order, with the decided gaps; return the record."""
    record, gate = Record(Unseen("the release's") if fails else None), Gate()

    async def sink(upstream, ctx):
        edge = Edge(upstream, record, gate)
        left = list(events)
        async with trio.open_nursery() as nursery:
            for number in range(asked_before):
                edge.happen(f"{'again' if order.choose(2) else 'ask'} {number}", nursery)
                await trio.testing.wait_all_tasks_blocked()
            decide_the_order(order)
            while left:
                edge.happen(left.pop(order.choose(len(left))), nursery)
                # Between two events: no step, one, two, or all until every task is blocked.
                gap = order.choose(4)
                for _ in range(gap % 3):
                    await trio.lowlevel.checkpoint()
                if gap == 3 or not left:
                    await trio.testing.wait_all_tasks_blocked()
            decide_the_order(None)
            # In every state an abort is confirmed, and no request is left waiting.
            await edge.terminate(0, None)
        for number in range(3):
            edge.scopes[number] = trio.CancelScope()
            await edge.ask(number)

    pipeline = ps.pipe(Scripted(record, gate, steps), *(Through() for _ in range(stages)), *ready, ps.sink(sink)())
    with suppress(Unseen):
        async with pipeline.open(check=check) as running:
            await running.result()
    assert trio.current_time() == record.began, "R6: a release waited for its turn until the timeout"
    return record


def verify(record):
    """Check R1 to R10 on one edge and upstream of it."""
    asks, terminations = record.asks, record.terminations
    assert all(ask.answered >= 0 for ask in asks), "R1: an ask is not answered"
    for first, second in pairwise(asks):
        assert first.answered < second.answered, "R1, R4: answered in another order than asked"
    values = [ask for ask in asks if isinstance(ask.outcome, ps.Batch)]
    endings = {id(ask.outcome): ask.outcome for ask in asks if ask not in values and ask.outcome != "cancelled"}
    assert len(endings) <= 1, f"R3: two endings, {list(endings.values())}"
    assert all(ask.answered < other.answered for ask in values for other in asks if other not in values), "R3"
    assert len(record.acquired) == len(record.released) <= 1, "R10: not released once"
    assert len(record.reasons) <= 1, "R6: notified twice"
    for ask in asks:
        if ask not in values and record.acquired:
            assert record.released[0] < ask.answered, "R6, R10: the end is seen before the release"
    first = min((sent.sent for sent in terminations), default=record.now)
    assert not any(first < ask.answered for ask in values), "R5: a value after the termination"
    for sent in terminations:
        assert sent.confirmed >= 0, "R1: a termination is not confirmed"
        assert all(ask.answered < sent.confirmed for ask in sent.outstanding), "R5: confirmed before asks are answered"
        assert sent.outcome in (ps.DONE, record.release_failure), f"R8: a termination raised {sent.outcome!r}"
        assert all(released < sent.confirmed for released in record.released), "R6: confirmed before the release"
    _verify_reason(record, endings)


def _verify_reason(record, endings):
    """Check that the source was notified with the reason seen downstream."""
    ending = next(iter(endings.values()), None)
    if record.reasons and isinstance(record.reasons[0], Unseen):
        # A failure does not overtake an earlier termination from downstream.
        late = record.reasons[0] is record.failed and record.ended_below
        assert late or ending in (None, record.reasons[0], record.release_failure), (
            f"R8: the source: {record.reasons[0]}"
        )
    elif isinstance(ending, Unseen) and not (record.ended or any(ask.outcome == "cancelled" for ask in record.asks)):
        # An end or a cancellation that is already on its way comes first.
        assert ending is record.release_failure, "R6: the source was not notified of the failure"


def explore(order, events, runs=10**9, **options):
    """Play all orders, at most `runs`; returns their number."""
    played = 0
    while True:
        record = in_virtual_time(partial(play, order, events, **options))
        try:
            verify(record)
        except AssertionError as exc:
            exc.add_note(f"{events} {options} {order.decided}")
            raise
        played += 1
        if not order.again() or played == runs:
            return played


def test_random_orders_of_all_events():
    """Every ask and termination is answered once, in order, with one ending, after the release (R1 to R10)."""
    for seed in range(amount(250, 30_000)):
        random = Random(seed)
        explore(
            Order(random),
            random.sample(EVENTS, random.randint(3, 9)),
            runs=1,
            steps=random.randrange(3),
            fails=random.random() < 0.3,
            stages=random.randrange(3),
            check=random.random() < 0.3,
            asked_before=random.randrange(4),
        )


@pytest.mark.parametrize("name", READY)
def test_random_orders_after_ready_modules(name):
    for seed in range(amount(3, 40)):
        random = Random(f"{name} {seed}")
        events = random.sample(EVENTS, random.randint(3, 9))
        ready, asked = [READY[name]()], random.randrange(4)
        check = random.random() < 0.3
        explore(Order(random), events, runs=1, steps=1, fails=False, ready=ready, check=check, asked_before=asked)


TOGETHER = ("cancel 0", "cancel 1", "cancel all", "abort 2", "error 1", "indicate 0", "value", "end", "fail")


@pytest.mark.slow
@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(("asked", "most"), [(2, 10**9), (3, 1000)])
@pytest.mark.parametrize("events", list(combinations(TOGETHER, 2)), ids=" and ".join)
def test_every_order_of_two_events(events, asked, most, fails):
    options = {"steps": 1, "fails": fails, "stages": 0, "check": False, "asked_before": asked}
    print(f"{explore(Order(), list(events), most, **options)} orders")


# ---- code that does not return within the release timeout


@ps.source
class Overtime(Kernel):
    """Returns some steps after the release timeout."""

    def __init__(self, steps):
        self.steps = steps

    async def produce(self, limit):
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(5)
                for _ in range(self.steps):
                    await trio.lowlevel.checkpoint()


async def answered_in_turn(order, steps):
    """Abort a module that is asked on three lanes; return the order of the answers."""
    answered = []

    @ps.sink
    async def asks(upstream, ctx):
        async def ask(lane, name):
            assert await lane.ask() is ps.DONE
            answered.append(name)

        async with trio.open_nursery() as nursery:
            for name in ("first", "second", "third"):
                nursery.start_soon(ask, upstream.lane(), name)
                await trio.testing.wait_all_tasks_blocked()
            decide_the_order(order)
            with pytest.raises(ps.errors.ReleaseTimeout):
                await upstream.abort()
            answered.append("abort")
        decide_the_order(None)

    async with ps.pipe(Overtime(steps), asks()).open(release_timeout=5) as running:
        await running.result()
    return answered


def test_an_abandoned_ask_does_not_disturb_the_others():
    """Its code may return in any step: it may be answered at any time, the others in order."""
    seen = set()
    for steps in range(5):
        order, left = Order(), True
        while left:
            answered = in_virtual_time(answered_in_turn, order, steps)
            assert sorted(answered) == ["abort", "first", "second", "third"]
            assert [name for name in answered if name != "first"] == ["second", "third", "abort"]
            seen.add(tuple(answered))
            left = order.again()
    assert len(seen) > 1
