"""The checker names every broken rule, the culprit and the place, and accepts correct pipelines."""

import re
from contextlib import suppress
from inspect import currentframe

import pytest
import trio
import trio.lowlevel

import pullstream as ps
from pullstream.checker import RULES, Act, Checker, Violation, watch
from pullstream.engine.edge.edge import Edge, End
from pullstream.engine.traits import Traits
from pullstream.history.events import EventLog
from tests.pullstream.common import Unseen
from tutorials.rules.by_hand import LastFirst, Late, Letters
from tutorials.rules.in_runs import FailsTooSoon, ForgetsTheStamp, GoesBack, KeepsTheAbort, Passing, StopsByItself


def line() -> int:
    return currentframe().f_back.f_lineno


# ---- broken partners at one edge, written by hand


class Numbers(Letters):
    """Answers 0, 1, ... one at a time, `count` of them; a correct reader for the broken ones to differ from."""

    def __init__(self, count=3):
        super().__init__()
        self.count = count
        self.given = 0

    async def ask(self, limit=1):
        if self.ended.is_set() or self.given == self.count:
            return ps.DONE
        self.given += 1
        return ps.Batch(0, [self.given - 1])


async def beside(ask, then):
    """Do `then` while an ask is outstanding."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, 2)
        await trio.testing.wait_all_tasks_blocked()
        await then()
        nursery.cancel_scope.deadline = trio.current_time() + 1


def answering(*answers):
    """A reader that gives these answers in turn, the last one for ever; exception classes are raised anew."""

    class Answering(Numbers):
        async def ask(self, limit=1):
            answer = answers[min(self.given, len(answers) - 1)]
            self.given += 1
            if isinstance(answer, (BaseException, type)):
                raise answer
            return answer

        ask_many = ask

    return Answering


def many(times, values="ab"):
    return answering(ps.Batch.of(times, [*values]))


class Deaf(Numbers):
    async def ask(self, limit=1):
        await trio.sleep_forever()


class LateMany(Late):
    """Answers the outstanding ask with values of two times, although the stream has been aborted."""

    async def ask_many(self, limit=1):
        await self.ended.wait()
        return ps.Batch.of([0, 1], ["a", "b"])


class Echo(Numbers):
    async def error(self, reason):
        raise reason


class Chatty(Numbers):
    async def abort(self):
        return ps.Batch(0, ["bye"])


def asks(*limits, many=False):
    async def ask(reader):
        for limit in limits:
            with suppress(Unseen):
                await (reader.ask_many(limit) if many else reader.ask(limit))

    return ask


def sends(*requests):
    async def send(reader):
        for name in requests:
            sent = getattr(reader, name)(*[Unseen()] * (name == "error"))
            if sent is not None:
                await sent

    send.__name__ = ", ".join(requests)
    return send


def while_asked(then, ask="ask", *, lane=True):
    """Send a request while an ask is outstanding on another lane, or on the same."""

    async def send(reader):
        await beside(getattr(reader.lane() if lane else reader, ask), lambda: sends(then)(reader))

    send.__name__ = f"{then} while {ask}"
    return send


VALUE = ps.Batch(0, [0])
ABOVE, BELOW = "the source", "the requester"

IMPOLITE = sends("abort", "abort"), sends("abort", "ask"), sends("abort_nowait", "ask"), asks(1, 1, 1, 1, 1)

PARTNERS = [
    ("R1", ABOVE, LastFirst, while_asked("ask")),
    ("R1", ABOVE, Deaf, while_asked("settled")),
    ("R2", ABOVE, answering(ps.Batch(0, [0, 1])), asks(1)),
    ("R2", ABOVE, answering(ps.Batch(0, [])), asks(1)),
    ("R2", ABOVE, answering(ps.Batch(None, [0])), asks(1)),
    ("R2", ABOVE, answering(17), asks(1)),
    ("R2", ABOVE, many([0, 1]), asks(2)),
    ("R2", ABOVE, many([0, 1]), asks(1, many=True)),
    ("R2", ABOVE, many([0, None]), asks(2, many=True)),
    ("R2", ABOVE, many([0, 1, 2]), asks(2, many=True)),
    ("R5", ABOVE, LateMany, while_asked("abort", "ask_many")),
    ("R3", ABOVE, answering(VALUE, ps.DONE, VALUE), asks(1, 1, 1)),
    ("R3", ABOVE, answering(Unseen), asks(1, 1)),
    ("R3", ABOVE, answering(Unseen(), ps.DONE), asks(1, 1)),
    ("R3", ABOVE, answering(Unseen()), asks(1, 1, 1)),  # the traceback grows
    ("R3", ABOVE, Numbers, sends("error", "ask")),  # it answers done where its failure is due
    ("R4", BELOW, Deaf, while_asked("ask", lane=False)),
    ("R5", ABOVE, Late, while_asked("abort")),
    ("R5", ABOVE, Deaf, while_asked("abort")),
    ("R8", ABOVE, Echo, sends("error")),
    ("R8", ABOVE, Chatty, sends("abort", "abort")),
    *(("R9", BELOW, Numbers, requests) for requests in IMPOLITE),
]


@pytest.mark.parametrize(("rule", "culprit", "partner", "requests"), PARTNERS)
async def test_a_broken_partner_is_reported_with_its_rule(rule, culprit, partner, requests, autojump_clock):
    reader = watch(partner(), "the source", strict=rule == "R9")

    with pytest.raises((Violation, ExceptionGroup)) as caught:
        await requests(reader)

    violation = only(caught.value)
    assert (violation.rule, violation.module) == (rule, culprit)
    assert str(violation).startswith(f"{rule}: {RULES[rule]}.")
    assert violation.events
    assert violation.diagram in re.sub("^    ", "", str(violation), flags=re.MULTILINE)


def only(exc):
    """The violation, taken out of the groups that nurseries put it in."""
    while isinstance(exc, ExceptionGroup):
        (exc,) = exc.exceptions
    return exc


@pytest.mark.parametrize("requests", IMPOLITE)
async def test_an_impolite_requester_is_accepted_unless_strict(requests, autojump_clock):
    """Requests that must not be sent are still answered, by R3 and R5."""
    reader = watch(Numbers())
    await requests(reader)
    reader.settled()


# ---- broken modules in a pipeline: those of the rules' cards, and others


@ps.transformer
class ChangesTheReason(Passing):
    async def dismiss(self, reason):
        await self.upstream.error(Unseen("another"))


@ps.transformer
class FailsByItself(Passing):
    class machine(Edge):  # noqa: N801 - the name of an attribute
        async def ask(self, lane, limit, **options):
            await super().ask(lane, limit, **options)
            raise Unseen


@ps.transformer
class EchoesTheAnswer(Passing):
    """Answers every value twice."""

    class machine(Edge):  # noqa: N801 - the name of an attribute
        async def ask(self, lane, limit, **options):
            batch = await super().ask(lane, limit, **options)
            return batch if batch is ps.DONE else ps.Batch(batch.time, [*batch.values] * 2)


@ps.transformer
class AsksUnasked(Passing):
    async def begin(self):
        await self.upstream.ask()


@ps.transformer
class NeverReleases(Passing):
    async def acquire(self):
        pass

    class machine(Edge):  # noqa: N801 - the name of an attribute
        async def confirm(self):
            await self.module.dismiss(None)
            return ps.DONE


@ps.transformer
class AcquiresTwice(Passing):
    async def produce(self, limit):
        await self.acquire()
        return await super().produce(limit)


@ps.transformer
class AcquiresForAnAbort(Passing):
    async def dismiss(self, reason):
        await self.acquire()
        await super().dismiss(reason)


@ps.transformer
class AsksAgain(Passing):
    async def produce(self, limit):
        batch = await super().produce(limit)
        if batch is ps.DONE:
            await super().produce(limit)
        return batch


@ps.transformer
class Reminded(ps.authoring.Notified):
    """Gives a result at a complete time that it does not hold."""

    def receive(self, batch):
        self.remind(batch.time)

    def complete(self, time):
        self.give(time, ["result"])


@ps.transformer
class HoldsLate(ps.authoring.Notified):
    def receive(self, batch):
        self.remind(batch.time)

    def complete(self, time):
        self.notify(time + 1, time)


@ps.transformer
class HoldsTooLate(ps.authoring.Kernel):
    """Holds the time of a batch after the next ask."""

    async def produce(self, limit):
        first = await self.upstream.ask(limit)
        await self.upstream.ask(limit)
        self.location.hold(first.time)
        return first


@ps.sink
async def refusing(upstream, ctx):
    await upstream.abort()


@ps.sink
async def leaving(upstream, ctx):
    await upstream.ask()


@ps.sink
async def waiting(upstream, ctx):
    """Lets the module upstream begin, and asks for nothing."""
    await upstream.edge.module.begin()


@ps.sink
async def erring(upstream, ctx):
    await upstream.ask()
    raise Unseen


MODULES = [
    ("R2", EchoesTheAnswer, ps.collect),
    ("R2", AsksUnasked, waiting),
    ("R6", KeepsTheAbort, leaving),
    ("R6", ChangesTheReason, erring),
    ("R7", StopsByItself, ps.collect),
    ("R8", FailsByItself, ps.collect),
    ("R8", FailsTooSoon, ps.collect),
    ("R10", AcquiresTwice, ps.collect),
    ("R10", NeverReleases, leaving),
    ("R10", AcquiresForAnAbort, refusing),
    ("R11", ForgetsTheStamp, ps.collect),
    ("R12", GoesBack, ps.collect),
    ("R12", Reminded, ps.collect),
    ("R12", HoldsLate, ps.collect),
    ("R12", HoldsTooLate, ps.collect),
    ("R9", AsksAgain, ps.collect),
]


@pytest.mark.parametrize(("rule", "module", "sink"), MODULES)
def test_a_broken_transformer_is_reported_with_its_rule(rule, module, sink):
    source = ps.values(range(5), time=lambda n: n)
    broken, composed = module(), line()

    with pytest.raises(Violation) as caught:
        ps.run(ps.pipe(source, broken, sink()), limit=1, check="strict" if rule == "R9" else True)

    assert caught.value.rule == rule
    assert caught.value.module == module.__name__
    assert (caught.value.site.filename, caught.value.site.line) == (__file__, composed)
    assert f"{__file__}:{composed}" in str(caught.value)


async def test_a_cancelled_abort_still_ends_the_edge(autojump_clock):
    """Its sender does not wait for the release, and an earlier ask is answered with the failure."""

    @ps.source
    class Failing(ps.authoring.Kernel):
        async def produce(self, limit):
            raise Unseen

        async def release(self):
            await trio.sleep(2)

    @ps.sink
    async def impatient(upstream, ctx):
        async def leave():
            await trio.sleep(1)
            with trio.move_on_after(0.5):
                await upstream.abort()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(leave)
            with pytest.raises(Unseen):
                await upstream.ask()
        return trio.current_time()

    async with ps.pipe(Failing(), impatient()).open(check="strict") as running:
        started = trio.current_time()
        assert await running.result() == started + 2


def test_a_swallowed_violation_ends_the_run():
    @ps.transformer
    async def swallows(upstream, ctx):
        while True:
            with suppress(ps.errors.ProtocolError):
                await upstream.ask()
            await trio.lowlevel.checkpoint()
            yield ps.Batch(0, [0])

    with pytest.raises(Violation, match=r"^R2"):
        ps.run(ps.pipe(ps.values([0]), EchoesTheAnswer(), swallows(), ps.drain()), limit=1, check=True)


# ---- diagrams, multi-time batches, memory


async def test_an_edge_is_drawn_in_the_specification_s_notation(autojump_clock):
    """Later events begin with an arrow; a batch shows its first values, with their times if it has several."""
    reader = watch(many([0, 1, (2, "b"), 3], "abcd")())
    await reader.ask_many(4)
    assert reader.diagram() == "D: ask1(Ans1 4) -> U: Ans1=value('a' at 0, 'b' at 1, 'c' at (2, 'b'), ... 4 in all)"

    reader = watch(Numbers(1))
    await reader.ask(2)
    await reader.ask()
    await reader.abort()
    reader.error_nowait(Unseen("x"))

    assert reader.diagram().splitlines() == [
        "D: ask1(Ans1 2) -> U: Ans1=value(0)",
        "-> D: ask2(Ans2) -> U: Ans2=done",
        "-> D: abort3(Ans3) -> U: Ans3=done",
        "-> D: error4(Unseen('x'))",
    ]


@ps.source
class TrustedMany(ps.authoring.Kernel):
    """Gives the answers it is made with, unverified without the checker; it holds 4 until the last one."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, *answers):
        self.answers = list(answers)

    async def acquire(self):
        self.location.advance(4)

    async def produce(self, limit):
        if len(self.answers) < 2:
            self.location.drop_capability()
        return self.answers.pop(0) if self.answers else ps.DONE


@ps.sink
async def takes(upstream, ctx, whole):
    while (await (upstream.ask_many(9) if whole else upstream.ask(9))) is not ps.DONE:
        pass


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize(
    ("answers", "rule", "what"),
    [
        ([ps.Batch.of([1, 2], ["a"])], "R2", r"numbers of times \(2\) and values \(1\)"),
        ([ps.Batch.of([1, None], ["a", "b"])], "R2", "the time None, which is not a time"),
        ([ps.Batch.of([1, 2] * 5, [*"abcdefghij"])], "R2", "10 values to an ask for 1 to 9"),
        ([ps.Batch(1, ["a"]), ps.Batch.of([3, 2], [*"ab"])], "R12", "it answered at 3, which was complete"),
        ([ps.Batch(4, ["a"]), ps.Batch.of([4, 3], [*"ab"])], "R12", "it answered at 3, which was complete"),
    ],
)
def test_a_trusted_module_s_wrong_multi_time_answer_is_caught(answers, rule, what, whole):
    """The engine trusts it; the checker checks each of the times (R2, R12)."""
    pipeline = ps.pipe(TrustedMany(*answers), takes(whole))
    with pytest.raises(Violation, match=what) as caught:
        ps.run(pipeline, check=True)
    assert caught.value.rule == rule
    assert caught.value.module == "TrustedMany"


@pytest.mark.parametrize("method", ["stamp", "count_batch"])
def test_an_uncounted_multi_time_batch_is_found(method, monkeypatch):
    """A batch that is handed over is in flight at each of its times (R11)."""
    monkeypatch.setattr(End, method, lambda *_: None, raising=False)
    with pytest.raises(Violation, match="R11"):
        ps.run(ps.pipe(TrustedMany(ps.Batch.of([1, 2], ["a", "b"])), takes(whole=True)), check=True)


async def test_a_long_stream_is_watched_in_bounded_memory():
    reader = watch(Numbers(100_000))
    await asks(*[1] * 2000)(reader)

    assert len(reader.events) < 300
    assert "\n...\n" in reader.diagram()
    assert reader.diagram().startswith("D: ask1(Ans1) -> U: Ans1=value(0)\n")
    assert reader.diagram().endswith("D: ask2000(Ans2000) -> U: Ans2000=value(1999)")


def test_a_log_keeps_its_first_and_last_events():
    """The gap follows the first events, even if one was taken back, and exists only if an event is left out."""
    log = EventLog()
    for number in range(1, 20):
        log.note((number, Act.ACK, number, 0, None))
    log.note((20, Act.ASK, 20, 0, 1))
    assert log.take_back(20)
    for number in range(20, 221):
        log.note((number, Act.ACK, number, 0, None))
    assert ([event.number for event in log.events], log.gap) == ([*range(1, 221)], None)

    log.note((221, Act.ACK, 221, 0, None))
    assert ([event.number for event in log.events], log.gap) == ([*range(1, 21), *range(22, 222)], 20)


def test_checkers_are_single_use():
    """A second run would be blamed for violations of the first, or draw its edges."""
    checker = Checker()
    with pytest.raises(Violation, match="^R7"):
        ps.run(ps.pipe(ps.values("ab"), StopsByItself(), ps.collect()), check=checker)

    with pytest.raises(ps.errors.ReuseError, match="make one for each run"):
        ps.run(ps.pipe(ps.values("ab"), ps.collect()), check=checker)


def test_a_checker_draws_edges_and_both_sides_of_a_module():
    """The input's and the output's events in one drawing; a row that is too long continues in the next."""
    checker = Checker()
    long = "a string that fills a line, or nearly"
    ps.run(ps.pipe(ps.values([long]), ps.map(str.upper).named("shout"), ps.collect()), limit=1, check=checker)

    assert checker.diagram("shout").splitlines()[0] == "D: ask1(Ans1) -> U: Ans1=value('A STRING ... OR NEARLY')"
    assert checker.both_sides("shout").splitlines() == [
        "D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('a string ... or nearly')",
        "-> TO: Ans1=value('A STRING ... OR NEARLY')",
        "-> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=done -> TO: Ans2=done",
    ]
    with pytest.raises(LookupError, match="'shout'"):
        checker.diagram("whisper")
