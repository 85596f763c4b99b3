"""The judge of a trace: the model of timely dataflow, which replays the recorded events.

From the definitions, and from the times held and in flight, it computes which times may still arrive where, and so
where each frontier is after each change. The run's announcements must agree with it.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, starmap
from typing import Any, Final

import attrs

from pullstream.protocol import TRANSITIONS, Event, State
from pullstream.timely import TimelyError
from pullstream.timely.theory.model import record
from pullstream.trace.file import Trace, with_times
from pullstream.trace.times import Json, NotInTrace, decode, encode

AT_HAND: Final = 1_000
JUDGED: Final = frozenset({"stamps", "awaited", "completed", "dismissed", "rest", "frontiers", "untracked"})
"""The kinds of events that the model judges."""


@attrs.frozen
class Objection:
    """An event that the model does not allow: its number, the broken rule, and why."""

    event: int
    rule: str
    because: str

    def __str__(self) -> str:
        return f"event {self.event}: {self.rule}: {self.because}"


@attrs.frozen
class Verdict:
    """The model's verdict on a run: its objections, and how much it has judged."""

    objections: Sequence[Objection]
    events: int
    completions: int
    until: tuple[int, str] | None = None
    """The event from which nothing can be judged, and why: its times cannot be compared, or are only displayed."""

    @property
    def ok(self) -> bool:
        """Whether the model allows everything that it can judge."""
        return not self.objections

    def as_json(self) -> Json:
        """Return the last line of a trace."""
        objections = [[objection.event, objection.rule, objection.because] for objection in self.objections]
        return {
            "verdict": "refused" if objections else "allowed",
            "completions": self.completions,
            "objections": objections,
            **({} if self.until is None else {"until": list(self.until)}),
        }

    def __str__(self) -> str:
        if self.ok:
            until = "" if self.until is None else f", judged until event {self.until[0]}: {self.until[1]}"
            completions = f", {self.completions} completion{'s' * (self.completions != 1)}" if self.completions else ""
            return f"allowed by the model: {self.events} events{completions}{until}"
        return "refused by the model: " + "; ".join(map(str, self.objections[:3]))


class StepResults(dict[tuple[int, Hashable], Sequence[Any]]):
    """The results of steps that change times: computed by the run's own functions, or read from its trace."""

    def sends(self, step: int, function: record.Sends | None = None) -> record.Sends:
        """Return a step's function of times: from the table, or computed with the function and stored in the table."""

        def sends(time: Any) -> Iterable[Any]:
            known = self.get((step, time))
            if known is None:
                if function is None:
                    raise NotInTrace(f"the trace does not contain the result for {time!r} of step {step} of its plan")
                known = self[step, time] = list(function(time))
            return known

        return sends

    def as_json(self) -> Json:
        """Return the line of a trace that stores the table."""
        return [[step, encode(time), [encode(later) for later in result]] for (step, time), result in self.items()]

    @classmethod
    def read(cls, rows: Sequence[Json]) -> "StepResults":
        """Read the table from such a line."""
        return cls({(step, decode(time)): [decode(later) for later in result] for step, time, result in rows})


class Judge:
    """Receives the events of a run one by one, and computes where frontiers have moved to."""

    def __init__(self, header: Mapping[str, Json], functions: Mapping[int, record.Sends], table: StepResults) -> None:
        self._names: dict[int, str] = {place["id"]: place["name"] for place in header["places"]}
        self._outputs = {place["id"] for place in header["places"] if place["input"] is None}
        steps = header["plan"]["steps"]
        ports = [
            (
                self._names[a],
                self._names[b],
                record.same if how == "same" else table.sends(number, functions.get(number)),
            )
            for number, (a, b, how) in enumerate(steps)
        ]
        initial = [(self._names[place], decode(time)) for place, time in header["plan"]["initial"]]
        plan = record.Plan.of_steps(ports, initial)
        # Values in flight are on the step that leads to the input.
        self._edges = {b: plan.edges[number].name for number, (_, b, _) in enumerate(steps) if b not in self._outputs}
        self._replay = record.Replay(plan)
        # Most changes repeat earlier ones.
        self._known = lru_cache(AT_HAND)(self._worded)
        self._now: dict[int, tuple[Any, ...]] = dict.fromkeys(self._names, ())
        self._least: object = None
        self._events = 0
        self.objections: list[Objection] = []
        """Objections beside those of the model."""
        self._until: tuple[int, str] | None = None

    def verdict(self) -> Verdict:
        """Return the verdict on the events so far."""
        replayed = self._replay
        objections = [Objection(wrong.index, wrong.rule, wrong.because) for wrong in replayed.violations]
        objections = sorted([*objections, *self.objections], key=lambda objection: objection.event)
        return Verdict(objections, self._events, replayed.completions, self._until)

    def see(self, number: int, kind: str, about: Sequence[Any]) -> None:
        """Judge an event, with decoded times."""
        self._events += 1
        if kind in JUDGED and self._until is None:
            try:
                self._see(number, kind, about)
            except (TypeError, TimelyError, NotInTrace) as exc:
                self._until = number, str(exc)
            except Exception as exc:  # noqa: BLE001 - an unknown place, or an invalid event
                self.objections.append(Objection(number, "cannot be judged", f"{type(exc).__name__}: {exc}"))

    def moved(self) -> Iterable[tuple[int, tuple[Any, ...]]]:
        """Return the places whose frontier has moved since the last call, and their frontiers."""
        least = self._replay.least
        if least is self._least:
            return
        self._least = least
        for place, name in self._names.items():
            now = least[name]
            if now != self._now[place] and set(now) != set(self._now[place]):
                self._now[place] = now
                yield place, now

    def _see(self, number: int, kind: str, about: Sequence[Any]) -> None:
        match kind, about:
            case "stamps", [changes]:
                self._replay.see(number, record.Together(chain.from_iterable(starmap(self._known, changes))))
            case "awaited", [place, time]:
                self._replay.see(number, record.Awaited(self._names[place], time))
            case "completed", [place, time]:
                self._replay.see(number, record.Completed(self._names[place], time))
            case "dismissed", [place, time]:
                self._replay.see(number, record.Dismissed(self._names[place], time))
            case "rest", []:
                self._replay.see(number, record.Settled())
            case "frontiers", [frontiers]:
                for place, times in frontiers:
                    self._replay.see(number, record.Frontier(self._names[place], times))
            case "untracked", []:
                self._until = number, "the run could not compare its times any more"
            case _:
                raise ValueError(f"a {kind} cannot have the content {about}")

    def _worded(self, place: int, time: Any, delta: int) -> Sequence[record.Change]:
        """Return a change in the model's terms."""
        if place in self._outputs:
            name = self._names[place]
            change: record.Change = record.Held(name, time) if delta > 0 else record.Released(name, time)
        else:
            name = self._edges[place]
            change = record.Sent(name, time) if delta > 0 else record.Taken(name, time)
        return [change] * abs(delta)


@attrs.define
class _Replayed:
    requests: int = 0
    outstanding: set[int] = attrs.field(factory=set[int])
    state: State = State.OPEN


class Edges:
    """The edges of a trace, replayed: an answer belongs to a request, and an ended edge gives no value (R1, R5)."""

    def __init__(self) -> None:
        self._edges: dict[int, _Replayed] = {}

    def see(self, kind: str, about: Sequence[Json]) -> Iterator[tuple[str, str]]:
        """Replay an event; yield the rules it breaks, and how."""
        match kind, about:
            case (("ask" | "abort" | "error" | "abort soon" | "error soon"), [int(number), _, int(request), *_]):
                edge = self._edges.setdefault(number, _Replayed())
                if request != edge.requests + 1:
                    yield "R1", f"request {request} on edge {number} comes after request {edge.requests}"
                edge.requests = request
                if not kind.endswith("soon"):
                    edge.outstanding.add(request)
                if kind != "ask":
                    edge.state = TRANSITIONS[edge.state, Event(kind.removesuffix(" soon"))]
            case (("value" | "done" | "failed" | "cancelled"), [int(number), _, int(request), *_]):
                edge = self._edges.setdefault(number, _Replayed())
                if request not in edge.outstanding:
                    yield "R1", f"request {request} on edge {number} is answered, but was not outstanding"
                edge.outstanding.discard(request)
                if kind == "value" and edge.state is not State.OPEN:
                    yield "R5", f"a value came on edge {number} after the termination"
            case _:
                pass


def judge(trace: Trace) -> Verdict:
    """Return the model's verdict on a written trace, from the trace alone; its edges are replayed, too.

    An incomplete trace, whose writer was killed, is judged as far as it goes.
    """
    model, edges = Judge(trace.header, {}, StepResults.read(trace.sends)), Edges()
    for number, _, kind, *about in trace.events:
        try:
            was = with_times(kind, about, decode)
        except (TypeError, ValueError, ArithmeticError) as exc:
            model.objections.append(Objection(number, "cannot be judged", f"it is not a valid {kind}: {exc}"))
            continue
        model.see(number, kind, was)
        model.objections += [Objection(number, rule, what) for rule, what in edges.see(kind, about)]
    return model.verdict()
