"""Spark Connect: a session whose Spark is another program, reached over the network, without Java on this machine.

`session` finds or opens such a session; `batches` reads a DataFrame as Connect's own Arrow; `query` is a streaming
query, whose micro-batches wait at a `gate` for their commit; `local` sends a source's values, also for a table.
Modules that work as in a classic session, such as `on_executors`, need no code here.
"""
