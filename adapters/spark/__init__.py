"""Spark: a session, and DataFrames as sources (`pip install 'pullstream[spark]'`).

Importing this loads no pyspark; using it does. `session` gives a session, finding or supplying Java (`java`);
`reading` holds `from_dataframe`, a DataFrame as a source, `streaming` `from_streaming`, the micro-batches of a
streaming one, `executing` `on_executors`, transformers in Spark's own workers, and `writing` `to_dataframe`, a source
as a DataFrame, `register_source`, the same by name, and `write_table`. `connect` is what is different through Spark
Connect, which is told where it is.

**Hosts, ports and tokens.** For its executors the driver listens once a source is offered to Spark, in one server for
all of them, until the session is stopped (the setting `spark.pullstream.port`). Unless that says otherwise it is on a
port the system chooses, and on the loopback where Spark's master is on this machine, or else at
`spark.driver.bindAddress` (`spark.driver.host`), by which executors must be able to reach the driver. Spark itself
listens there, too. The listener has a random token of its own, which travels with Spark's tasks; a connection that does
not begin with it is closed, and a warning logged (logger `pullstream.spark`). What is sent is not encrypted.
"""

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
from .executing.answers import RowError
from .executing.combine import reduce_by_key
from .executing.function import OnExecutors, on_executors
from .executing.key_state import StateMismatch
from .executing.shipping import send_packages
from .reading.ordered import OrderedBatches
from .reading.source import from_dataframe
from .session import session
from .streaming.source import from_streaming
from .streaming.status import StreamStatus
from .writing.filters import RowFilter
from .writing.frame import RegisteredSource, register_source, to_dataframe
from .writing.table import write_table
from .writing.table_folder import TableTargetError
from .writing.tape import ReplayTooLong

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
