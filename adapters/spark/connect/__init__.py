"""Spark Connect: a session whose Spark is another program's, reached over the network, without a Java here.

`session` finds such a session, or opens one; `batches` reads a DataFrame by Connect's own Arrow. What is the same in a
classic session, as `on_executors`, has no part here.
"""
