"""Transformers inside Spark's Python workers: `on_executors`, and `reduce_by_key` in two steps.

`function` and `streams` run on the driver, and `shipping` pickles the work. On an executor, `partition` runs one
partition: `input` reads its rows, and `answers` holds the results. `keyed` runs the keys of a streaming DataFrame.
`combine` is the driver's step of `reduce_by_key`, `combining` the executor's.
"""
