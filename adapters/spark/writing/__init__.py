"""Into Spark: a source as a DataFrame (`frame`), and a partition of a table for every time (`table`).

Spark fetches from the driver: `server` listens there, `frames` is how it speaks, `served` is one source, `feeding` how
a task is given its rows, `readings` who reads it and why a second time, `tape` what is kept of a source to be read
again, `source_log` a source that is read in micro-batches, `filters` what Spark looks for; `remote` is what runs in
Spark's processes. A table's times are kept and written by `table_partitions`, and put in their places by
`table_folder`.
"""
