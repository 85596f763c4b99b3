"""A run's figures for whatever collects an application's metrics (`pip install 'pullstream[metrics]'`).

    ps.run(pipeline, beside=metrics())

They go through OpenTelemetry's API, which sends them nowhere until the program sets up an SDK with a reader and an
exporter. Importing this loads none of it; `metrics()` does.
"""

from .task import MetricsMissing, metrics

__all__ = ["MetricsMissing", "metrics"]
