"""`metrics()`: the reader of a real SDK gets a run's metrics, during the run and after its end."""

import logging
import sys
import warnings

import pytest
import trio

import pullstream as ps
from adapters.metrics import MetricsMissing, metrics
from tests.programs import printed
from tests.pullstream.common import after, script

sdk = pytest.importorskip("opentelemetry.sdk.metrics")
export = pytest.importorskip("opentelemetry.sdk.metrics.export")


class Collector:
    def __init__(self):
        self.reader = export.InMemoryMetricReader()
        self.provider = sdk.MeterProvider(metric_readers=[self.reader], shutdown_on_exit=False)
        self.meter = self.provider.get_meter("tests")

    def read(self, name):
        return {point.attributes.get("pullstream.module"): point.value for point in self.points(name)}

    def points(self, name):
        return [
            point
            for resource in self.reader.get_metrics_data().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == f"pullstream.{name}"
            for point in metric.data.data_points
        ]


@pytest.fixture
def collector():
    return Collector()


def test_counters_are_exact_at_the_end(collector):
    shops = ps.pipe(
        ps.values([1, 2, 3, 4, 5, 6], time=lambda n: n // 2),
        ps.map(lambda n: 12 // (n - 2), on_error="skip"),
        ps.sort_by_time(),
        ps.drain(),
    )
    look = metrics(collector.meter, attributes={"pipeline": "shops"})

    for run in (1, 2):
        ps.run(shops, beside=look)
        assert collector.read("values.out") == {"values": 6 * run, "map -> on_error": 5 * run, "sort_by_time": 5 * run}
        assert collector.read("values.in") == {"map -> on_error": 6 * run, "sort_by_time": 5 * run, "drain": 5 * run}
        given, taken = collector.read("batches.out"), collector.read("batches.in")
        assert [taken["map -> on_error"], taken["sort_by_time"]] == [given["values"], given["map -> on_error"]]
        assert run <= given["values"] < 6 * run
        assert collector.read("values.skipped") == {"map -> on_error": 1 * run}
        assert collector.read("times.done") == {None: 4 * run}
        assert set(collector.read("times.open").values()) <= {0}
        assert set(collector.read("frontier.still").values()) == {0}
    points = collector.points("values.in")
    assert {point.attributes["pipeline"] for point in points} == {"shops"}
    assert sorted(point.attributes["pullstream.place"] for point in points) == [1, 2, 3]


async def test_blocked_times_are_shown_during_the_run(collector, autojump_clock):
    clock = script(ps.Batch(10, [10]), 5.0, ps.Batch(20, [20]), 5.0).named("clock")
    held = ps.pipe(clock, ps.sort_by_time(), ps.drain())
    look = metrics(collector.meter, every=1, behind=lambda now: 30 - now)

    async with held.open(beside=look) as running:
        await trio.sleep(3.5)
        assert collector.read("times.open")["clock"] == 1
        assert collector.read("frontier.still")["sort_by_time"] == 2  # Since it was first seen there, after 1 s.
        assert collector.read("frontier.lag")["sort_by_time"] == 20
        await trio.sleep(3)
        assert collector.read("frontier.lag")["sort_by_time"] == 10
        await running.result()
    assert collector.read("frontier.lag")["sort_by_time"] == 0
    assert collector.read("times.open")["clock"] == 0
    assert collector.read("waiting.upstream")["sort_by_time"] >= 0


def test_a_log_line_for_every_frontier_change(collector, caplog):
    caplog.set_level(logging.INFO, "shops")

    ps.run(
        ps.pipe(ps.values([1, 2], time=lambda n: n), ps.map_async(after(0.01), concurrency=1), ps.drain()),
        beside=metrics(collector.meter, log=logging.getLogger("shops")),
    )

    assert "complete before 2; times done: 1" in caplog.messages
    assert caplog.messages[-1] == "complete; times done: 2"


def test_failing_metrics_do_not_fail_the_run(collector):
    def behind(now):
        raise ZeroDivisionError(now)

    slow = ps.pipe(ps.values([1, 2], time=int), ps.map_async(after(0.01), concurrency=1), ps.collect())
    with pytest.warns(RuntimeWarning, match="metrics failed.*ZeroDivisionError"):
        assert ps.run(slow, beside=metrics(collector.meter, behind=behind, every=0.001)) == [1, 2]

    log = logging.getLogger("full disk")
    log.info = lambda *_: 1 // 0
    short = ps.pipe(ps.values([1]), ps.collect())
    with pytest.warns(RuntimeWarning, match="without them: ZeroDivisionError"):
        # A run ends, and cancels its metrics, at the same moment; the order of tasks is random.
        assert [ps.run(short, beside=metrics(collector.meter, log=log)) for _ in range(20)] == [[1]] * 20

    broken = ps.pipe(ps.values([1, 0]), ps.map(lambda n: 1 // n), ps.drain())
    with warnings.catch_warnings(), pytest.raises(ZeroDivisionError):
        warnings.simplefilter("error")
        ps.run(broken, beside=metrics(collector.meter, log=logging.getLogger("shops")))
    assert collector.read("values.in")["map"] >= 1


def test_arguments_are_checked():
    with pytest.raises(ps.CompositionError, match="every"):
        metrics(every=-1)
    with pytest.raises(ps.CompositionError, match="behind"):
        metrics(behind=3)
    with pytest.raises(ps.CompositionError, match="needs a dict for its argument 'attributes', but got 5"):
        metrics(attributes=5)
    with pytest.raises(ps.CompositionError, match=r"needs a meter .*: write provider.get_meter"):
        metrics(sdk.MeterProvider(shutdown_on_exit=False))


def test_without_opentelemetry(monkeypatch):
    """The error has the install command, and the adapter can be imported."""
    monkeypatch.setitem(sys.modules, "opentelemetry.metrics", None)
    with pytest.raises(MetricsMissing, match=r"pip install 'pullstream\[metrics\]'"):
        metrics()
    program = "import adapters.metrics, sys; print(any(name.startswith('opentelemetry') for name in sys.modules))"
    assert printed("-c", program) == "False\n"
