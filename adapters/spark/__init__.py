"""Spark: a session, and DataFrames as sources (`pip install 'pullstream[spark]'`).

Importing this loads no pyspark; using it does. `session` gives a session, finding or supplying Java (`java`);
`reading` holds `from_dataframe`, a DataFrame as a source, `streaming` `from_streaming`, the micro-batches of a
streaming one, `executing` `on_executors`, transformers in Spark's own workers, and `writing` `to_dataframe`, a source
as a DataFrame.
streaming one, and `writing` `to_dataframe`, a source as a DataFrame.
streaming one; `executing` has `on_executors`, transformers inside Spark's own workers.
"""

from adapters.arrow import NullTimeError
from adapters.spark.errors import (
    CannotListen,
    JavaNotFound,
    JobCancelled,
    RetriedTaskError,
    SessionMismatch,
    SparkJobError,
    SparkMissing,
    SparkStreamError,
)
from adapters.spark.executing import OnExecutors, RowError, on_executors, reduce_by_key, send_packages
from adapters.spark.reading import OrderedBatches, from_dataframe
from adapters.spark.session import session
from adapters.spark.streaming import StreamStatus, from_streaming
from adapters.spark.writing import RegisteredSource, TableTargetError, register_source, to_dataframe, write_table

__all__ = [
    "CannotListen",
    "JavaNotFound",
    "JobCancelled",
    "NullTimeError",
    "OnExecutors",
    "OrderedBatches",
    "RegisteredSource",
    "RetriedTaskError",
    "RowError",
    "SessionMismatch",
    "SparkJobError",
    "SparkMissing",
    "SparkStreamError",
    "StreamStatus",
    "TableTargetError",
    "from_dataframe",
    "from_streaming",
    "on_executors",
    "reduce_by_key",
    "register_source",
    "send_packages",
    "session",
    "to_dataframe",
    "write_table",
]
