"""Spark: a session, and DataFrames as sources (`pip install 'pullstream[spark]'`).

Importing this loads no pyspark; using it does. `session` gives a session, finding or supplying Java (`java`);
`reading` holds `from_dataframe`, a DataFrame as a source.
"""

from adapters.arrow import NullTimeError
from adapters.spark.errors import (
    JavaNotFound,
    JobCancelled,
    SessionMismatch,
    SparkJobError,
    SparkMissing,
)
from adapters.spark.reading import OrderedBatches, from_dataframe
from adapters.spark.session import session

__all__ = [
    "JavaNotFound",
    "JobCancelled",
    "NullTimeError",
    "OrderedBatches",
    "SessionMismatch",
    "SparkJobError",
    "SparkMissing",
    "from_dataframe",
    "session",
]
