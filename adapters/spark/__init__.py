"""Spark: a session, and DataFrames as sources (`pip install 'pullstream[spark]'`).

Importing this does not load pyspark; using it does. `session` gives a session, and finds or supplies Java (`java`).
`reading` contains `from_dataframe`, a DataFrame as a source; `streaming` contains `from_streaming`, the micro-batches
of a streaming DataFrame; `executing` contains `on_executors`, transformers in Spark's Python workers; `writing`
contains `to_dataframe`, a source as a DataFrame, `register_source`, a source that Spark reads by name, and
`write_table`. `connect` contains everything that differs with Spark Connect.
"""

from pullstream.authoring import publish

from ..arrow import NullTimeError, SchemaError
from .errors import (
    CannotListen,
    JavaEnded,
    JavaNotFound,
    JobCancelled,
    SessionMismatch,
    ShuffleRerunError,
    SparkJobError,
    SparkMissing,
    SparkStreamError,
)
from .executing.combine import reduce_by_key
from .executing.function import OnExecutors, on_executors
from .executing.input import RowError
from .executing.keyed import StateMismatch
from .executing.shipping import send_packages
from .reading.ordered import OrderedBatches
from .reading.source import from_dataframe
from .session import session
from .streaming.checked import StreamStatus
from .streaming.source import from_streaming
from .writing.filters import RowFilter
from .writing.frame import RegisteredSource, register_source, to_dataframe
from .writing.replay import ReplayTooLong
from .writing.table import write_table
from .writing.table_partitions import TableTargetError

__all__ = [
    "CannotListen",
    "JavaEnded",
    "JavaNotFound",
    "JobCancelled",
    "NullTimeError",
    "OnExecutors",
    "OrderedBatches",
    "RegisteredSource",
    "ReplayTooLong",
    "RowError",
    "RowFilter",
    "SchemaError",
    "SessionMismatch",
    "ShuffleRerunError",
    "SparkJobError",
    "SparkMissing",
    "SparkStreamError",
    "StateMismatch",
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
publish(__name__)
