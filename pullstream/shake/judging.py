"""The judgement of a simulated run: what is wrong with it, by comparison with the undisturbed run of the pipeline."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from pullstream.blueprint.shown import shortened
from pullstream.engine.parts.generator import GeneratorKernel
from pullstream.engine.parts.notified import Notified
from pullstream.engine.sidecar.location import Location, above
from pullstream.engine.traits import Carries
from pullstream.errors import CapabilityError, ProtocolError, PullstreamError
from pullstream.frames import chain
from pullstream.modules.combining.join_by_time import JoinByTime
from pullstream.shake.edges import EdgeWatcher, counted_values
from pullstream.shake.simulation import Delivery, Simulated, shown
from pullstream.trace.file import Trace

Compare: TypeAlias = Literal["auto", "order", "times", "nothing"]

Check: TypeAlias = Callable[[Simulated], object]
"""A user's own check: it returns a text, or raises an AssertionError, if something is wrong."""

ORDER_MATTERS: Final = frozenset(
    {"batch", "windowed", "zip", "combine_latest", "find", "first", "last", "split", "catch_up", "worker_pool"}
)
"""Modules with results that depend on the order of values at one time."""

HANDLERS: Final = frozenset(
    {"catch", "retry", "worker_pool", "flatten", "group_by", "dynamic_merge", "deferred", "batch"}
)
"""Modules that may turn a failure into something else, or emit what they have before it."""


WAITING: Final = (Notified, GeneratorKernel, JoinByTime)
"""Kernels that may wait for times to be complete."""

_shortened = partial(shortened, longest=300)


@attrs.frozen
class Wrong:
    """A fault of a run: the kind, and what happened."""

    kind: str
    what: str


class Judgement:
    """Judges runs by the undisturbed run of the same pipeline."""

    def __init__(self, like: Simulated, compare: Compare, checks: Sequence[Check]) -> None:
        self.like = like
        self._checks = checks
        self.compare, self.why = (compare, "as asked for") if compare != "auto" else _comparable(like)
        names = set(_names(like))
        self.handles = bool(names & HANDLERS)
        if like.failure is not None and self.compare == "times":
            self.compare, self.why = (
                "nothing",
                "the undisturbed run fails, and without an order, the failure may come before any value",
            )
        self.cut = like.failure is not None and self.compare == "order" and _cut(like)
        """Whether the failure of the undisturbed run may cut a run short at any value."""
        self.short_sinks = _short_sinks(like)
        """The sinks whose streams other modules may cut short at any value."""

    def wrong(self, run: Simulated) -> Wrong | None:
        """Return the first fault of a run, the clearest kind first."""
        for look in (self._rules, self._ending, self._progress, self._values, self._stored, self._leftovers, self._own):
            if (found := look(run)) is not None:
                return found
        return None

    def _rules(self, run: Simulated) -> Wrong | None:
        if run.watcher is not None and run.watcher.violations:
            first = run.watcher.violations[0]
            return Wrong(first.rule, f"{first.module}: {first.what}")
        if isinstance(run.failure, (CapabilityError, ProtocolError)):
            # A refused answer is wrong even if the undisturbed run has it, too.
            return Wrong(type(run.failure).__name__, str(run.failure))
        return None

    def _ending(self, run: Simulated) -> Wrong | None:
        like, failure = self.like, run.failure
        if run.ending == "killed":
            return None
        if run.ending == "hanging":
            return Wrong("hang", f"the run did not end by itself{'' if failure is None else f': {shown(failure)}'}")
        if run.ending == "abandoned" != like.ending and run.way not in ("abort", "cancel"):
            return Wrong("ending", "the run was abandoned, though nothing aborted it")
        if run.ending == "complete" and like.failure is not None and not (run.way or run.cut_short):
            return Wrong("ending", f"the run is complete, but the undisturbed run {_how(like)}")
        if run.ending != "failed" or failure is None:
            return None
        if type(failure) is type(like.failure) and (
            # The text of the toolkit's own errors may describe the moment.
            isinstance(failure, PullstreamError) or shown(failure) == shown(like.failure)
        ):
            return None
        if any(each is run.injected for each in chain(failure)):
            return None
        kind = "failure" if not isinstance(failure, PullstreamError) else type(failure).__name__
        return Wrong(kind, f"the run failed with {_shortened(shown(failure))}, but the undisturbed run {_how(like)}")

    def _progress(self, run: Simulated) -> Wrong | None:
        if run.late:
            return Wrong("early completion", run.late)
        objections = run.verdict()
        return Wrong("progress", objections[0]) if objections else None

    def _values(self, run: Simulated) -> Wrong | None:
        if self.compare == "nothing" or run.way == "finish":
            return None
        if self.handles and (run.injected is not None or run.cut_short):
            return None
        whole = run.ending == self.like.ending and (run.injected is None or run.ending == "complete")
        complete = whole and run.ending == "complete"
        # An abort may come before the failure at one sink, and after it at another.
        cut = self.cut or (not complete and run.way and len(self.like.delivered) > 1)
        whole = whole and not run.resumed and not cut
        for sink in dict.fromkeys([*self.like.delivered, *run.delivered]):
            want, got, short = self.like.delivered.get(sink, []), run.delivered.get(sink, []), sink in self.short_sinks
            what = self._unlike(want, got, whole=whole and not short, cut=self.cut or short, anywhere=run.resumed)
            if what is not None:
                return Wrong("missing values" if what.startswith("did not") else "values", f"{sink} {what}")
        if complete and not self._same_result(self.like.result, run.result):
            result, expected = _shortened(shown(run.result)), _shortened(shown(self.like.result))
            return Wrong("result", f"the result was {result}, and not {expected}")
        return None

    def _unlike(
        self, want: Sequence[Delivery], got: Sequence[Delivery], *, whole: bool, cut: bool, anywhere: bool
    ) -> str | None:
        """Say how values differ from the expected ones; an interrupted run has only the first of those."""
        if self.compare == "order" and not anywhere:
            for number, (one, other) in enumerate(zip(want, got, strict=False)):
                if not _same(one, other):
                    return f"received {_told(other)} as its value number {number + 1}, and not {_told(one)}"
            if len(got) > len(want) and not cut:
                return f"received {counted_values(len(got) - len(want))} too many, first {_told(got[len(want)])}"
            if whole and len(got) < len(want):
                return f"did not receive {counted_values(len(want) - len(got))}, first {_told(want[len(got)])}"
            return None
        wanted, received = _counted(want), _counted(got)
        if not cut and (more := received - wanted):
            return f"received {_pair(next(iter(more)))}, which the undisturbed run did not emit"
        if whole and (fewer := wanted - received):
            return f"did not receive {_pair(next(iter(fewer)))}"
        return None

    def _same_result(self, want: object, result: object) -> bool:
        if isinstance(want, tuple) and isinstance(result, tuple):
            wants, results = cast("tuple[object, ...]", want), cast("tuple[object, ...]", result)
            return len(wants) == len(results) and all(map(self._same_result, wants, results))
        if self.compare == "times":
            if not (isinstance(want, list) and isinstance(result, list)):
                return True
            return Counter(map(shown, cast("list[Any]", want))) == Counter(map(shown, cast("list[Any]", result)))
        return _equal(want, result) or shown(cast("Any", want)) == shown(cast("Any", result))

    def _stored(self, run: Simulated) -> Wrong | None:
        """Say how the files differ when a run with a journal is complete."""
        if run.ending != "complete" or run.way or self.compare == "nothing" or (self.handles and run.cut_short):
            return None
        want, got = self.like.files, run.files
        for name in sorted({*want, *got}):
            if name not in want and not run.cut_short:
                return Wrong("files", f"there is a file {name}, which the undisturbed run did not leave")
            if name not in got:
                return Wrong("files", f"there is no file {name}")
            has, wanted = got[name], want.get(name, got[name])
            if has != wanted and (self.compare == "order" or Counter(has.splitlines()) != Counter(wanted.splitlines())):
                return Wrong("files", f"{name} has {_shortened(repr(has))}, and not {_shortened(repr(wanted))}")
        return None

    def _leftovers(self, run: Simulated) -> Wrong | None:
        return Wrong("left behind", f"the run left behind {run.left[0]}") if run.left else None

    def _own(self, run: Simulated) -> Wrong | None:
        for check in self._checks:
            try:
                said = check(run)
            except AssertionError as exc:
                said = str(exc) or "its assertion failed"
            if said:
                return Wrong(getattr(check, "__name__", "check"), str(said))
        return None


def _comparable(like: Simulated) -> tuple[Compare, str]:
    """Return what must be the same in each run of a pipeline, by the traits of its modules, and why."""
    if like.watcher is None:
        return "nothing", "the undisturbed run did not end"
    edges = like.watcher.edges
    clocked = next((name for name, edge in edges.items() if edge.traits.clocked), None)
    if clocked is not None:
        return "nothing", f"the results of {clocked} depend on the clock"
    reorders = {name: edge.location for name, edge in edges.items() if edge.traits.reorders}
    if not reorders:
        return "order", "no module changes it"
    known = set(like.watcher.locations)
    depends = {
        name: edge.location
        for name, edge in edges.items()
        if edge.traits.carries is not Carries.NOTHING or ORDER_MATTERS.intersection(_parts(name))
    }
    for name, location in depends.items():
        leading = above(location)
        for cause, at in reorders.items():
            # It is not known what feeds a stream inside a module, or in which order values go round in a loop.
            if at is location or at in leading or location in leading or not known.issuperset((at, location)):
                return "nothing", f"{cause} promises no order, on which results of {name} may depend"
    sink = next((name for name in like.delivered if ORDER_MATTERS.intersection(_parts(name))), None)
    if sink is not None:
        return "nothing", f"{next(iter(reorders))} promises no order, on which the result of {sink} may depend"
    return "times", f"{next(iter(reorders))} promises no order"


def _cut(like: Simulated) -> bool:
    """Whether a failure ends other branches, or other inputs of a module, wherever they happen to be.

    The progress of other inputs decides which times are complete before the failure, for modules that wait for times.
    """
    if (watcher := like.watcher) is None:
        return False
    senders = _below(like, watcher, "error")
    failed = {location for location in _below(like, watcher, "failed") if len(location.ports) > 1}
    waiting = [edge.location for edge in watcher.edges.values() if isinstance(edge.module, WAITING)]
    return any(not senders <= {sink, *above(sink)} for sink in watcher.sinks) or any(
        not failed.isdisjoint((location, *above(location))) for location in waiting
    )


def _short_sinks(like: Simulated) -> set[str]:
    """Return the sinks, such as one of `late=`, whose stream is ended by a module beside them that has enough.

    How far their stream has been read by then depends on which modules ask ahead.
    """
    if (watcher := like.watcher) is None:
        return set()
    leaving = _below(like, watcher, "abort")
    first = leaving.difference(*map(above, leaving))
    leading = {watcher.name_of(sink): {sink, *above(sink)} for sink in watcher.sinks}
    return {name for name, around in leading.items() if around & leaving and not around & first}


def _below(like: Simulated, watcher: EdgeWatcher, kind: str) -> set[Location]:
    """Return the modules downstream of the edges on which there was an event of a kind."""
    if not like.trace:
        return set()
    trace = Trace.of(like.trace.splitlines())
    edges = {event[3] for event in trace.events if event[2] == kind}
    return {watcher.locations[edge["to"]] for edge in trace.header["edges"] if edge["id"] in edges}


def _names(like: Simulated) -> list[str]:
    edges = () if like.watcher is None else like.watcher.edges
    return [part for name in [*edges, *like.delivered] for part in _parts(name)]


def _parts(name: str) -> list[str]:
    """Return the names of the modules in a name: several if they are fused."""
    return [part.partition(" (")[0] for part in name.split(" -> ")]


def _counted(row: Sequence[Delivery]) -> Counter[tuple[Hashable, str]]:
    return Counter((each.time, each.shown) for each in row)


def _same(one: Delivery, other: Delivery) -> bool:
    return one.time == other.time and (one.shown == other.shown or _equal(one.value, other.value))


def _equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # noqa: BLE001 - arrays and the like; their texts are compared
        return False


def _how(like: Simulated) -> str:
    return "fails with " + _shortened(shown(like.failure)) if like.failure is not None else f"is {like.ending}"


def _told(each: Delivery) -> str:
    return _pair((each.time, each.shown))


def _pair(pair: tuple[Hashable, str]) -> str:
    return f"{_shortened(pair[1])} at {shown(pair[0])}"
