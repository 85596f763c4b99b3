"""Spark's Python workers in the tests: forks of a process that has already imported what they need.

A worker that does its own imports takes a second, and every failure and every abort ends some workers.
"""

import gc

import pandas as pd
import pyarrow as pa
from pyspark import daemon, worker

from adapters.spark.executing import combining, keyed, partition

NEEDED = [combining, keyed, pa, partition, pd, worker]

if __name__ == "__main__":
    gc.freeze()
    daemon.manager()
