"""Metrics of a run through OpenTelemetry (`pip install 'pullstream[metrics]'`).

    ps.run(pipeline, beside=metrics())

OpenTelemetry's API discards the values until the program sets up an SDK with a reader and an exporter. Importing this
package does not load OpenTelemetry; `metrics()` does.
"""

from pullstream.authoring import publish

from .task import MetricsMissing as MetricsMissing, metrics as metrics

publish(__name__)
