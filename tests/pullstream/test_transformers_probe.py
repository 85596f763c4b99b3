"""probe: the messages at one place, in the specification's notation."""

import logging

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen


def shown(events):
    return [str(event) for event in events]


def test_every_request_and_answer_is_shown():
    events = []
    source = ps.values([10, 11, 12, 13, 14, 20], time=lambda n: n // 10)
    ps.run(ps.pipe(source, ps.probe(events.append), ps.collect()), limit=9)
    assert shown(events) == [
        "D: ask1(Ans1 9)",
        "U: Ans1=value(10 at 1, 11 at 1, 12 at 1, ... 6 in all)",
        "D: ask2(Ans2 9)",
        "U: Ans2=done",
    ]
    assert events[1].about == ps.Batch.of([1, 1, 1, 1, 1, 2], [10, 11, 12, 13, 14, 20])


async def test_terminations_are_shown_in_order(edge, counting, probe, autojump_clock):
    events = []
    source = counting(probe, 9, delay=5)
    async with edge(ps.pipe(source, ps.probe(events.append))) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.ask, 1)
        await trio.sleep(1)
        await reader.abort()
    assert shown(events) == ["D: ask1(Ans1)", "D: abort2(Ans2)", "U: Ans1=done", "U: Ans2=done"]


async def test_failures_and_cancellations_are_shown(edge, counting, probe, autojump_clock):
    events = []
    async with edge(ps.pipe(counting(probe, 0, failure=Unseen("above")), ps.probe(events.append))) as reader:
        with pytest.raises(Unseen):
            await reader.ask()
    assert shown(events) == ["D: ask1(Ans1)", "U: Ans1=error(Unseen('above'))"]

    events.clear()
    async with edge(ps.pipe(ps.integers(), ps.probe(events.append))) as reader:
        await reader.error(Unseen("below"))
    assert shown(events) == ["D: error1(Unseen('below') Ans1)", "U: Ans1=done"]

    events.clear()
    async with edge(ps.pipe(counting(probe, 9, delay=5), ps.probe(events.append))) as reader:
        with trio.move_on_after(1):
            await reader.ask()
    assert shown(events) == ["D: ask1(Ans1)", "U: Ans1=cancelled"]


def test_a_label_is_logged(caplog):
    with caplog.at_level(logging.DEBUG, "pullstream.probe"):
        ps.run(ps.pipe(ps.values("a"), ps.probe("letters"), ps.collect()), limit=1)
    assert caplog.messages[:2] == ["letters  D: ask1(Ans1)", "letters  U: Ans1=value('a')"]
