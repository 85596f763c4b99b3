"""The task that samples a run periodically and reports changes to a meter."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from functools import partial
from logging import Logger
from typing import TYPE_CHECKING, Any, Final

import attrs
import trio

import pullstream as ps
from pullstream.authoring import Call, function, of_extra, seconds
from pullstream.timely import BEGINNING, Antichain

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

COUNTED: Final = {
    "values_in": ("pullstream.values.in", "{value}", "values that a module has received"),
    "values_out": ("pullstream.values.out", "{value}", "values that a module has emitted"),
    "batches_in": ("pullstream.batches.in", "{batch}", "batches that a module has received"),
    "batches_out": ("pullstream.batches.out", "{batch}", "batches that a module has emitted"),
    "skipped": ("pullstream.values.skipped", "{value}", "values skipped by a failure policy"),
    "busy": ("pullstream.busy", "s", "seconds in which a module was asked and did not wait for upstream"),
    "waiting_for_upstream": ("pullstream.waiting.upstream", "s", "seconds in which a module waited for upstream"),
    "waiting_for_downstream": ("pullstream.waiting.downstream", "s", "seconds in which a module was not asked"),
}
"""The counters by their field in `Counters`: name, unit, description."""


@attrs.define(eq=False, slots=False)
class Instruments:
    """The figures of one run; each look reports the changes since the last one.

    The counters are synchronous. Observable ones would be called in the collector's thread, and even after the run has
    ended, because callbacks cannot be unregistered.
    """

    _meter: Any
    _behind: Callable[[Any], float] | None
    _attributes: Mapping[str, str]
    _running: ps.types.Running[Any]

    def __attrs_post_init__(self) -> None:
        meter = self._meter
        self._counters = {
            field: meter.create_counter(name, unit, description) for field, (name, unit, description) in COUNTED.items()
        }
        self._done = meter.create_counter("pullstream.times.done", "{time}", "times complete at the sinks")
        self._open = meter.create_gauge("pullstream.times.open", "{time}", "times not yet complete at a module")
        self._still = meter.create_gauge("pullstream.frontier.still", "s", "seconds since a module's frontier moved")
        self._lag = meter.create_gauge("pullstream.frontier.lag", "1", "lag of a module's frontier")
        self._reported: dict[tuple[int, str], float] = {}
        self._reported_done = 0
        self._holders: set[str] = set()
        self._moved: dict[int, tuple[list[Hashable], float]] = {}

    def look(self) -> None:
        """Report the current state of the run."""
        rows = self._running.counters()
        for place, row in enumerate(rows):
            about = self._about(row.module, place)
            for field, counter in self._counters.items():
                now: float = getattr(row, field)
                if now > (before := self._reported.get((place, field), 0)):
                    counter.add(now - before, about)
                    self._reported[place, field] = now
        progress = self._running.progress
        done = progress.times_done()
        self._done.add(done - self._reported_done, dict(self._attributes))
        self._reported_done = done
        self._report_open()
        names = [row.module.split(" -> ")[-1] for row in rows]
        count = Counter(names)
        for place, name in enumerate(names):
            if count[name] == 1:
                try:
                    self._report_frontier(place, rows[place].module, progress.frontier(at=name))
                except LookupError:
                    continue  # a fused row contains another module of that name

    def _report_open(self) -> None:
        """Report the number of open times of all modules that have, or had, any."""
        times: defaultdict[str, set[Hashable]] = defaultdict(set)
        for stamp in self._running.progress.pointstamps():
            times[stamp.holder].add(stamp.time)
        self._holders |= times.keys()
        for holder in self._holders:
            self._open.set(len(times[holder]), {**self._attributes, "pullstream.module": holder})

    def _report_frontier(self, place: int, module: str, frontier: Antichain[Any]) -> None:
        now, times = trio.current_time(), list(frontier)
        before, since = self._moved.get(place, ([], now))
        if set(times) != set(before):
            since = now
        self._moved[place] = times, since
        about = self._about(module, place)
        self._still.set(now - since if times else 0, about)
        if self._behind is not None:
            far = [self._behind(time) for time in times if time is not BEGINNING]
            if far or not times:
                self._lag.set(max(far, default=0), about)

    def _about(self, module: str, place: int) -> dict[str, str | int]:
        return {**self._attributes, "pullstream.module": module, "pullstream.place": place}


class MetricsMissing(ps.PullstreamError, ImportError):
    """OpenTelemetry's API is not installed."""


def metrics(
    meter: "Meter | None" = None,
    *,
    every: float = 1.0,
    behind: Callable[[Any], float] | None = None,
    attributes: Mapping[str, str] | None = None,
    log: Logger | None = None,
) -> Callable[[ps.types.Running[Any]], Awaitable[None]]:
    """Report a run's metrics to an OpenTelemetry meter: `run(pipeline, beside=metrics())`.

    >>> import pullstream as ps
    >>> shops = ps.pipe(ps.values(["tea", "rice", "salt"], time=len), ps.map(str.title), ps.collect())
    >>> ps.run(shops, beside=metrics())
    ['Tea', 'Rice', 'Salt']

    Counters of each module (with the attributes `pullstream.module`, its name, and `pullstream.place`, its position):
    `pullstream.values.in`, `pullstream.values.out` and `pullstream.values.skipped`; `pullstream.batches.in` and
    `pullstream.batches.out`; `pullstream.busy`, `pullstream.waiting.upstream` and `pullstream.waiting.downstream`, in
    seconds, as `Counters` defines them. Counter of the run: `pullstream.times.done`, the times complete at the sinks.

    Gauges of each module: `pullstream.times.open`, the times that it may still emit or has in flight;
    `pullstream.frontier.still`, the seconds since its output frontier last moved; and `pullstream.frontier.lag`, the
    lag of its earliest time, as given by `behind`, a function of a time (`lambda day: (date.today() - day).days`). When
    a run ends successfully, all three are 0; a failed run leaves the last values. Frontiers are reported for modules
    whose name is unique in the run (`named`); the open times of modules with the same name are reported together.

    By default, `meter` comes from the program's global provider, with the name "pullstream". `attributes` are added to
    all figures, for example the name of the pipeline; give runs side by side different ones. Changes are reported every
    `every` seconds and at the end, so counters are exact after the run. With a `log`, every move of the frontier at the
    sinks is logged, with the number of completed times.

    Metrics are collected in the run's own thread. An error in them, for example in `behind`, does not end the run: it
    ends the metrics with a `RuntimeWarning`. `beside` takes one task; to use several, start them in your own nursery.

    Raises:
        MetricsMissing: OpenTelemetry's API is not installed.
        CompositionError: an argument is invalid.
    """
    seconds(Call("metrics", name="every"), every)
    if behind is not None:
        function(Call("metrics", name="behind"), behind)
    if attributes is not None and not isinstance(attributes, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Call("metrics").refuse(f"needs a dict for its argument 'attributes', but got {attributes!r}")
    if meter is not None and not hasattr(meter, "create_counter"):
        raise Call("metrics").refuse(
            f"needs a meter for its argument 'meter', but got {meter!r}: write provider.get_meter(name) for a provider"
        )
    if meter is None:
        api = of_extra("metrics", "opentelemetry.metrics", MetricsMissing, named="OpenTelemetry's API")
        meter = api.get_meter("pullstream", ps.__version__)
    instruments = partial(Instruments, meter, behind, dict(attributes or {}))
    return partial(_report, instruments, every, log)


async def _report(
    instruments: Callable[[Any], Instruments], every: float, log: Logger | None, running: ps.types.Running[Any]
) -> None:
    """Report `running` until it ends."""
    try:
        async with trio.open_nursery() as nursery:
            if log is not None:
                nursery.start_soon(_log, running, log)
            figures = instruments(running)
            try:
                while not running.finished:
                    figures.look()
                    await trio.sleep(every)
            finally:
                figures.look()
            nursery.cancel_scope.cancel()
    except* Exception as failed:  # noqa: BLE001 - reported, and no reason to end the run
        # Beside it, there may be a cancellation, by the end of the run at the same moment.
        warnings.warn(
            f"metrics failed, and the run continues without them: {failed.exceptions[0]!r}", RuntimeWarning, 2
        )


async def _log(running: ps.types.Running[Any], log: Logger) -> None:
    """Log every move of the frontier; if the run fails, the run itself reports the reason."""
    try:
        async for frontier in running.progress.watch():
            log.info("%s; times done: %d", _described(frontier), running.progress.times_done())
    except ps.errors.Abandoned:
        pass
    except Exception:
        if running.failure is None and not running.finished:
            raise


def _described(frontier: "Antichain[Hashable]") -> str:
    times = ", ".join(map(str, frontier))
    return f"complete before {times}" if times else "complete"
