"""Spark's types, for annotations, and pyspark itself, which is loaded when it is used."""

from typing import TYPE_CHECKING, Any

from ..packages import OnUse
from .errors import SparkMissing

if TYPE_CHECKING:
    from pyspark import SparkContext as SparkContext
    from pyspark.sql import (
        Column as Column,
        DataFrame as DataFrame,
        DataFrameWriter as DataFrameWriter,
        Row as Row,
        SparkSession as SparkSession,
    )
    from pyspark.sql.streaming.query import StreamingQuery as StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter as DataStreamWriter
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle as StatefulProcessorHandle
    from pyspark.sql.types import StructField as StructField, StructType as StructType
else:
    Column = DataFrame = DataFrameWriter = DataStreamWriter = Row = SparkContext = SparkSession = Any
    StatefulProcessorHandle = StreamingQuery = StructField = StructType = Any

pyspark: Any = OnUse("spark", "pyspark", SparkMissing)
