"""Traces: their contents, their repeatability, and the model's verdict on whole and broken ones."""

import io
import json

import attrs
import pytest
import trio

import pullstream as ps
from pullstream.trace import Trace, TraceError, judge
from pullstream.trace.view import data_of
from tests.pullstream.common import Answers, script
from timely import TimeDomainError

from .programs import PIPELINES, Decade, back, broken, days, per_time, refused, traced


@pytest.fixture(autouse=True)
def in_order(monkeypatch):
    """Only the seed decides the order of tasks, not their place in memory."""
    monkeypatch.setattr(trio._core._run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)


def read(text):
    return Trace.of(text.splitlines())


def kinds(trace, *wanted):
    return [event[2:] for event in trace.events if event[2] in wanted]


def test_a_trace_has_all_messages_of_its_edges():
    trace = read(traced(ps.pipe(ps.values("ab"), ps.take(1), ps.collect()), limit=1))

    assert trace.modules == ["values", "take", "collect"]
    assert kinds(trace, "ask", "value", "done", "abort") == [
        ["ask", 1, 0, 1, 1],
        ["ask", 0, 0, 1, 1],
        ["value", 0, 0, 1, 1, 0, ["'a'"]],
        ["value", 1, 0, 1, 1, 0, ["'a'"]],
        ["ask", 1, 0, 2, 1],
        ["abort", 0, 0, 2],
        ["done", 0, 0, 2],
        ["done", 1, 0, 2],
    ]
    assert [event[1:3] for event in kinds(trace, "ended")] == [
        [0, "abandoned"],
        [1, "complete"],
        [2, "complete"],
        [None, "complete"],
    ]


@pytest.mark.parametrize("make", PIPELINES)
def test_the_same_bytes_each_time(make, no_clocks):
    """With a virtual clock and a seed, on a machine of any speed, although sinks ask for more values on a fast one."""
    assert traced(make(), seed=3) == traced(make(), seed=3)


def first(events, kind, above=-1):
    """The index of the first event of a kind after index `above`."""
    return next(n for n, event in enumerate(events) if n > above and event[2] == kind)


def completed_sooner(events):
    event = events.pop(first(events, "completed"))
    early = first(events, "value")
    event[0] = events[early][0]
    events.insert(early, event)
    return event[0], "too early"


def batch_from_nowhere(events):
    number = events[-1][0]
    events.insert(-1, [number, 9, "stamps", [[1, {"date": "2024-02-20"}, 1]]])
    return number, "from nothing"


def batch_forgotten(events):
    events[first(events, "stamps", first(events, "value"))][3].pop()
    return None, "not there"


def frontier_ahead(events):
    event = events[first(events, "frontiers", first(events, "value"))]
    event[3][0][1] = [{"date": "2030-01-01"}]
    return event[0], "too early"


def completion_lost(events):
    lost = first(events, "completed")
    del events[lost]
    return events[first(events, "rest", lost)][0], "withheld"


def answered_twice(events):
    done = first(events, "done")
    events.insert(done, events[done])
    return events[done][0], "R1"


def asked_by_nobody(events):
    edge = events.pop(first(events, "ask"))[3]
    return next(event[0] for event in events if event[2:4] == ["value", edge]), "R1"


def value_after_the_end(events):
    value = first(events, "value")
    edge = events[value][3]
    ask = next(n for n, event in enumerate(events) if event[2:4] == ["ask", edge])
    events.insert(ask + 1, [events[ask][0], 0.0, "abort", edge, 0, 2])
    return events[value + 1][0], "R5"


BREAKINGS = [
    *(answered_twice, asked_by_nobody, value_after_the_end, completed_sooner),
    *(batch_from_nowhere, batch_forgotten, frontier_ahead, completion_lost),
]


@pytest.mark.parametrize("break_it", BREAKINGS, ids=lambda function: function.__name__)
def test_a_broken_trace_is_refused(break_it):
    header, *events, sends, ending = map(json.loads, traced(days(), limit=1).splitlines())
    number, rule = break_it(events)
    verdict = judge(Trace.of(map(json.dumps, [header, *events, sends, ending])))

    assert not verdict.ok
    assert rule in {objection.rule for objection in verdict.objections}
    if number is not None:
        assert (number, rule) in {(objection.event, objection.rule) for objection in verdict.objections}
    assert f"event {verdict.objections[0].event}: " in str(verdict)


def test_a_violation_is_in_the_trace():
    (violation,) = kinds(read(broken()), "violation")
    assert violation[1:3] == ["TooMany", "R2"]
    assert "3" in violation[3]


@pytest.mark.parametrize(
    ("stream", "module", "rule", "what"),
    [
        (ps.pipe(ps.values("ab", time=lambda _: 1), back()), "back", "R12", "answered at 0, but may not: it holds not"),
        (
            script(ps.Batch(1, ["a"]), ps.Batch(0, ["b"])),
            "script",
            "R12",
            "went back in time: it answered 'b', at 0, after promising that nothing before 1 would come.",
        ),
        (
            ps.pipe(ps.values([0, 1], time=lambda n: n), ps.map_time(lambda time: -time)),
            "map_time",
            "R12",
            "mapped 0 to 0, but the later time 1 to -1. The function must be monotone",
        ),
        (Answers(ps.Batch(0, [1, 2])), "Answers", "R2", "answered 2 values to an ask for one"),
        (script(ps.Batch(0, [])), "script", "R2", "yielded "),
    ],
    ids=["back", "backwards", "map_time", "several", "yielded"],
)
def test_a_refused_answer_is_a_violation_in_the_trace(stream, module, rule, what):
    pipeline = ps.pipe(stream, ps.prefetch(1), ps.map(str), ps.collect())
    trace = read(refused(pipeline, (ps.errors.CapabilityError, ps.errors.ProtocolError)))
    (violation,) = kinds(trace, "violation")
    assert violation[1:3] == [module, rule]
    assert violation[3].startswith(what)
    assert judge(trace).ok


def test_values_are_shown_as_they_were():
    class Odd:
        def __repr__(self):
            raise ValueError

    changed = [1]
    pipeline = ps.pipe(
        ps.values([changed, object(), Odd(), "x" * 1000]), ps.tap(lambda _: changed.append(2)), ps.collect()
    )
    values = [event[-1] for event in kinds(read(traced(pipeline, limit=1)), "value") if event[1] == 0]
    assert values[:3] == [["[1]"], ["<object object>"], ["<Odd instance>"]]
    assert len(values[3][0]) < 50


def test_a_path_is_written(tmp_path):
    path = tmp_path / "a new folder" / "run.ndjson"
    assert ps.run(ps.pipe(ps.values("ab"), ps.collect()), trace=path) == ["a", "b"]
    assert judge(Trace.read(path)).ok
    verdict = judge(Trace.read(path))
    assert str(verdict).startswith("allowed by the model: ")
    assert [str(attrs.evolve(verdict, completions=number)).partition(", ")[2] for number in range(3)] == [
        "",
        "1 completion",
        "2 completions",
    ]


def test_a_full_disk_is_reported_after_the_run():
    class Full(io.StringIO):
        def writelines(self, lines):
            raise OSError(28, "No space left on device")

    with pytest.raises(ps.PullstreamError, match="could not be written: .*No space left"):
        ps.run(ps.pipe(ps.values("ab"), ps.collect()), trace=Full())


@pytest.mark.parametrize("left", [0, 3, 9])
def test_a_truncated_trace_is_read_as_far_as_it_goes(tmp_path, left):
    """The last line of a killed run may end anywhere, even within a character, and there is no verdict."""
    lines = traced(ps.pipe(ps.values("äb"), ps.collect()), limit=1).encode().splitlines(keepends=True)
    file = tmp_path / "run.ndjson"
    file.write_bytes(b"".join(lines[: left + 1]) + lines[left + 1].partition(b"\xa4")[0].rstrip(b"]\n"))
    trace = Trace.read(file)
    assert (len(trace.events), trace.verdict) == (left, None)
    assert judge(trace).ok
    assert data_of(trace)["verdict"]["verdict"] == "none"


def test_invalid_utf8_is_refused(tmp_path):
    traced_bytes = traced(ps.pipe(ps.values("äb"), ps.collect()), limit=1).encode()
    file = tmp_path / "run.ndjson"
    file.write_bytes(traced_bytes.replace("ä".encode(), b"\xff", 1))
    with pytest.raises(TraceError, match="is incomplete"):
        Trace.read(file)


@pytest.mark.parametrize(
    "about",
    [
        ["stamps"],
        ["stamps", 7],
        ["stamps", [[1, 2]]],
        ["stamps", [[99, 2, 1]]],
        ["awaited", 1],
        ["completed", 1, {}],
        ["completed", 1, {"date": "never"}],
        ["frontiers", [[1, 7]]],
        ["frontiers", [[1]]],
        ["dismissed", 1, 2, 3],
    ],
)
def test_malformed_events_are_refused(about):
    """The verdict gives its number, and does not stop there as it would at incomparable times."""
    lines = traced(days(), limit=1).splitlines()
    number = len(lines) - 3
    lines.insert(number, json.dumps([number, 9, *about]))
    verdict = judge(Trace.of(lines))
    assert not verdict.ok
    assert (number, "cannot be judged") in {(objection.event, objection.rule) for objection in verdict.objections}


def test_a_run_that_never_begins_leaves_no_file_open(tmp_path):
    @ps.source
    class Odd(ps.authoring.Kernel):
        def placed(self):
            raise ps.CompositionError("no")

        async def produce(self, limit):
            return ps.DONE

    with pytest.raises(ps.CompositionError):
        ps.run(ps.pipe(Odd(), ps.drain()), trace=tmp_path / "run.ndjson")
    assert (tmp_path / "run.ndjson").read_text() == ""


def test_a_wait_at_two_places_ends_when_both_are_complete():
    """It must not end when the time is complete at one place while the other source is slow."""
    slow = ps.pipe(ps.interval(1), ps.take(3), ps.stamp(lambda tick: tick))
    joined = ps.join(ps.values(range(3), time=int), slow, on=lambda _: 0, how="asof", at=lambda _: 0)
    trace = read(traced(ps.pipe(joined, ps.collect())))
    assert trace.verdict["verdict"] == "allowed", trace.verdict
    assert {event[1] for event in kinds(trace, "awaited")} == {event[1] for event in kinds(trace, "completed")} != set()
    assert len({event[1] for event in kinds(trace, "completed")}) == 2


def test_incomparable_times_are_judged_as_far_as_possible():
    """Times of two domains, which fail the run itself, and times of a type that a trace can only print."""
    mixed = ps.merge(ps.values([1], time=lambda _: 1), ps.values(["a"], time=lambda _: "a"))
    verdict = judge(read(refused(ps.pipe(mixed, per_time(), ps.collect()), TimeDomainError)))
    assert verdict.ok
    assert verdict.until is not None
    assert ", judged until event " in str(verdict)

    odd = read(traced(ps.pipe(ps.values([1, 2], time=Decade), per_time(), ps.collect()), limit=1))
    assert odd.verdict["verdict"] == "allowed"
    assert "until" not in odd.verdict
    assert "does not say how" in judge(odd).until[1]


WHOLE = traced(days(), limit=1).splitlines()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        *((text.splitlines(), "trace") for text in ("", "{}\n", '{"trace":1}\n[1,')),
        (["nothing", *WHOLE], "this is not a trace"),
        (['{"trace":1}', *WHOLE[1:]], "its first line does not describe its modules"),
        # Only the last line can have been truncated by a kill.
        ([*WHOLE[:3], WHOLE[3][:-1], *WHOLE[4:]], "line 4 of the trace is incomplete"),
        *(
            ([*WHOLE[:3], text, *WHOLE[3:]], "line 4 of the trace is not an event")
            for text in ("[1]", '"word"', "7", "[true, 1]", '["1", 0, "ask"]')
        ),
    ],
)
def test_non_traces_are_refused(lines, message):
    with pytest.raises(TraceError, match=message):
        Trace.of(lines)
