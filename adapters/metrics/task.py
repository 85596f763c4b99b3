"""The task that looks at a run now and then, and tells a meter what has changed."""

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
) -> Callable[[ps.Running[Any]], Awaitable[None]]:
    """Tell a meter of OpenTelemetry's how a run is getting on: `run(pipeline, beside=metrics())`.

    >>> import pullstream as ps
    >>> shops = ps.pipe(ps.values(["tea", "rice", "salt"], time=len), ps.map(str.title), ps.collect())
    >>> ps.run(shops, beside=metrics())
    ['Tea', 'Rice', 'Salt']

    Counters, of each module (`pullstream.module`, its name, and `pullstream.place`, its number in the pipeline):
    `pullstream.values.in`, `pullstream.values.out` and `pullstream.values.skipped`; `pullstream.batches.in` and
    `pullstream.batches.out`, the answers in which they came and went; `pullstream.busy`,
    `pullstream.waiting.upstream` and `pullstream.waiting.downstream`, in seconds, as `Counters` defines them; and of
    the run `pullstream.times.done`, the number of times that are complete at the sinks. Gauges:
    `pullstream.times.open`, the times that a module, or any of its name, may still answer or has under way;
    `pullstream.frontier.still`, the seconds for which the least times that may come out of it have been the same, and
    with `behind`, a function from a time to how far it is behind (`lambda day: (date.today() - day).days`),
    `pullstream.frontier.lag`, of the time that is furthest behind. At a good end all three are 0; what a run that
    failed has left open stays told. Frontiers are told of modules that have a name of their own in the run (`named`).

    The `meter` is that of the program's global provider, named "pullstream", unless another is given. `attributes` are
    added to all figures: which pipeline it is, say. Changes are told `every` so many seconds and at the end, so that
    counters are exact once the run is over. With a `log`, every move of the frontier at the sinks is a line of its,
    with the times that are done.

    It looks from the run's own thread. A run is worth more than its figures: if something fails in here, such as
    `behind`, a `RuntimeWarning` says what, they end, and the run goes on. `beside` takes one onlooker; to have two,
    call both in a nursery of your own one.

    Raises:
        MetricsMissing: OpenTelemetry's API is not installed.
        CompositionError: an argument is not what it should be.
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
    """The onlooker that `metrics()` gives; it can be used for any number of runs."""

    meter: Any
    every: float
    behind: Callable[[Any], float] | None
    attributes: dict[str, str]
    log: Logger | None

    async def __call__(self, running: ps.Running[Any]) -> None:
        """Tell of `running` until it ends."""
        try:
            async with trio.open_nursery() as nursery:
                if self.log is not None:
                    nursery.start_soon(_log, running, self.log)
                await self._tell(running)
                nursery.cancel_scope.cancel()
        except Exception as exc:  # noqa: BLE001 - told, and no reason to end the work of a night
            warnings.warn(f"metrics have failed, and the run goes on without them: {exc!r}", RuntimeWarning, 2)

    async def _tell(self, running: ps.Running[Any]) -> None:
        instruments = Instruments(self.meter, running, self.behind, self.attributes)
        try:
            while not running.finished:
                instruments.look()
                await trio.sleep(self.every)
        finally:
            instruments.look()


async def _log(running: ps.Running[Any], log: Logger) -> None:
    """A line for every move; the reason of an end other than completion is the run's to tell."""
    try:
        async for frontier in running.progress.watch():
            log.info("%s; times done: %d", _said(frontier), running.progress.times_done())
    except ps.Abandoned:
        pass
    except Exception:
        if running.failure is None and not running.finished:
            raise


def _said(frontier: "Antichain[Hashable]") -> str:
    times = ", ".join(map(str, frontier))
    return f"all is complete before {times}" if times else "all is complete"
