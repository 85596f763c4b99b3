"""Structured Streaming as a source: a micro-batch is a time, and Spark commits it when that time is complete.

`source` is the pull side, in trio; `query` is the Spark side, which blocks in Spark's threads. They exchange the
messages of `messages`. `checked` refuses invalid arguments, and has the status of the query.
"""
