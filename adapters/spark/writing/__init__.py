"""Pass values to Spark: a source as a DataFrame (`frame`), or as a table with one partition per time (`table`).

Spark's processes fetch a source from the driver, with `remote`. On the driver, `server` accepts their connections, and
`frames` defines the messages. A `served_source` is a source for Spark, and `feeding` sends its rows to a Spark task.
`reading_task` identifies the task, and finds the reason for a second read. `replay` keeps a source's rows for further
reads, `source_log` for micro-batches. `filters` are Spark's conditions on rows.

`table_partitions` collects the rows of a table's times, writes them, and moves them into place.
"""
