"""The task that samples a run periodically and reports changes to a meter."""

import warnings
from collections.abc import Awaitable, Callable, Hashable, Mapping
from logging import Logger
from typing import TYPE_CHECKING, Any

import attrs
import trio

import pullstream as ps
from pullstream.authoring import Call, function, of_extra, seconds
from pullstream.timely import Antichain

from .instruments import Instruments

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter


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

    `meter` is by default that of the program's global provider, named "pullstream". `attributes` are added to all
    figures, for example the name of the pipeline. Changes are reported every `every` seconds and at the end, so
    counters are exact after the run. With a `log`, every move of the frontier at the sinks is logged, with the number
    of completed times.

    Metrics are collected in the run's own thread. An error in them, for example in `behind`, does not end the run: it
    ends the metrics with a `RuntimeWarning`. `beside` takes one task; to use several, start them in your own nursery.

    Raises:
        MetricsMissing: OpenTelemetry's API is not installed.
        CompositionError: an argument is invalid.
    """
    seconds(Call("metrics", name="every"), every)
    if behind is not None:
        function(Call("metrics", name="behind"), behind)
    if meter is None:
        api = of_extra("metrics", "opentelemetry.metrics", MetricsMissing, named="OpenTelemetry's API")
        meter = api.get_meter("pullstream", ps.__version__)
    return Metrics(meter, every, behind, dict(attributes or {}), log)


@attrs.frozen
class Metrics:
    """The callable that `metrics()` returns; it can be used for any number of runs."""

    meter: Any
    every: float
    behind: Callable[[Any], float] | None
    attributes: dict[str, str]
    log: Logger | None

    async def __call__(self, running: ps.types.Running[Any]) -> None:
        """Report `running` until it ends."""
        try:
            async with trio.open_nursery() as nursery:
                if self.log is not None:
                    nursery.start_soon(_log, running, self.log)
                await self._tell(running)
                nursery.cancel_scope.cancel()
        except Exception as exc:  # noqa: BLE001 - reported, and no reason to end the run
            warnings.warn(f"metrics failed, and the run continues without them: {exc!r}", RuntimeWarning, 2)

    async def _tell(self, running: ps.types.Running[Any]) -> None:
        instruments = Instruments(self.meter, running, self.behind, self.attributes)
        try:
            while not running.finished:
                instruments.look()
                await trio.sleep(self.every)
        finally:
            instruments.look()


async def _log(running: ps.types.Running[Any], log: Logger) -> None:
    """Log every move of the frontier; if the run fails, the run itself reports the reason."""
    try:
        async for frontier in running.progress.watch():
            log.info("%s; times done: %d", _said(frontier), running.progress.times_done())
    except ps.errors.Abandoned:
        pass
    except Exception:
        if running.failure is None and not running.finished:
            raise


def _said(frontier: "Antichain[Hashable]") -> str:
    times = ", ".join(map(str, frontier))
    return f"complete before {times}" if times else "complete"
