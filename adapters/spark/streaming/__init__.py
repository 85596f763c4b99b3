"""Structured Streaming as a source: a micro-batch is a time, and Spark commits it when that time is complete.

`source` is the pull side, in trio; `query` the Spark side, in Spark's threads, which blocks; they exchange the
messages of `messages`. `checked` refuses what cannot be read; `status` is what Spark tells of the query.
"""
