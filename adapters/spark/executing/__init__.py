"""Transformers inside Spark's Python workers: `on_executors`, and `reduce_by_key` in two steps.

`function` runs on the driver, and `shipping` pickles the work. On an executor, `partition` runs one partition, whose
rows `input` reads, and `keyed` runs the keys of a streaming DataFrame. `combine` is the driver's step of
`reduce_by_key`, `combining` the executor's.
"""
