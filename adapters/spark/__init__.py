"""Spark: a session, and DataFrames as sources (`pip install 'pullstream[spark]'`).

Importing this does not load pyspark; using it does. `session` gives a session, and finds or supplies Java (`java`).
`reading` contains `from_dataframe`, a DataFrame as a source; `streaming` contains `from_streaming`, the micro-batches
of a streaming DataFrame; `executing` contains `on_executors`, transformers in Spark's Python workers; `writing`
contains `to_dataframe`, a source as a DataFrame, `register_source`, a source that Spark reads by name, and
`write_table`. `connect` contains everything that differs with Spark Connect.
"""

from pullstream.authoring import publish

from ..arrow import NullTimeError as NullTimeError, SchemaError as SchemaError
from .errors import (
    CannotListen as CannotListen,
    JavaEnded as JavaEnded,
    JavaNotFound as JavaNotFound,
    JobCancelled as JobCancelled,
    SessionMismatch as SessionMismatch,
    ShuffleRerunError as ShuffleRerunError,
    SparkJobError as SparkJobError,
    SparkMissing as SparkMissing,
    SparkStreamError as SparkStreamError,
)
from .executing.combine import reduce_by_key as reduce_by_key
from .executing.function import OnExecutors as OnExecutors, on_executors as on_executors
from .executing.input import RowError as RowError
from .executing.keyed import StateMismatch as StateMismatch
from .executing.shipping import send_packages as send_packages
from .reading.ordered import OrderedBatches as OrderedBatches
from .reading.source import from_dataframe as from_dataframe
from .session import session as session
from .streaming.checked import StreamStatus as StreamStatus
from .streaming.source import from_streaming as from_streaming
from .writing.filters import RowFilter as RowFilter
from .writing.frame import (
    RegisteredSource as RegisteredSource,
    register_source as register_source,
    to_dataframe as to_dataframe,
)
from .writing.replay import ReplayTooLong as ReplayTooLong
from .writing.table import write_table as write_table
from .writing.table_partitions import TableTargetError as TableTargetError

publish(__name__)
