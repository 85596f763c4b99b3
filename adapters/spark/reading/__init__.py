"""DataFrames as sources."""

from adapters.spark.reading.ordered import OrderedBatches
from adapters.spark.reading.source import from_dataframe

__all__ = ["OrderedBatches", "from_dataframe"]
