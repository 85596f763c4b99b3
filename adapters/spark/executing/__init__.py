"""Transformers inside Spark's Python workers: `on_executors`, and `reduce_by_key` in two steps.

`function` is what the driver does, `shipping` what travels, `partition` what an executor does with one partition:
`input` its rows, `answers` what they come to; `combine` is the two steps.
"""

from adapters.spark.executing.answers import RowError
from adapters.spark.executing.combine import reduce_by_key
from adapters.spark.executing.function import OnExecutors, on_executors
from adapters.spark.executing.shipping import send_packages

__all__ = ["OnExecutors", "RowError", "on_executors", "reduce_by_key", "send_packages"]
