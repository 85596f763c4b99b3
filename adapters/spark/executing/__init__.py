"""Transformers inside Spark's Python workers: `on_executors`, and `reduce_by_key` in two steps.

`function` is what the driver does, `shipping` what travels, `partition` what an executor does with one partition:
`input` its rows, `answers` what they come to; `combine` is the two steps.
"""
