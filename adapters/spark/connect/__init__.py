"""Spark Connect: a session whose Spark is another program's, reached over the network, without a Java here.

`session` finds such a session, or opens one; `batches` reads a DataFrame by Connect's own Arrow; `query` is a streaming
query, whose micro-batches wait at a `gate` for their commit; `local` sends what a source gives, and `table` writes it.
What is the same in a classic session, as `on_executors`, has no part here.
"""
