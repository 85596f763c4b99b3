"""Spark: a session, and DataFrames as sources (`pip install 'pullstream[spark]'`).

Importing this loads no pyspark; using it does. `session` gives a session, finding or supplying Java (`java`);
`from_dataframe` reads a DataFrame in time order (`timed` checks it, `ordered` reads it, `rows` splits it).
"""

from adapters.spark.errors import (
    JavaNotFound,
    JobCancelled,
    NullTimeError,
    SessionMismatch,
    SparkJobError,
    SparkMissing,
)
from adapters.spark.ordered import OrderedBatches
from adapters.spark.rows import Rows
from adapters.spark.session import session
from adapters.spark.source import from_dataframe

__all__ = [
    "JavaNotFound",
    "JobCancelled",
    "NullTimeError",
    "OrderedBatches",
    "Rows",
    "SessionMismatch",
    "SparkJobError",
    "SparkMissing",
    "from_dataframe",
    "session",
]
