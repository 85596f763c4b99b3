"""Into Spark: a source as a DataFrame (`frame`).

Spark fetches from the driver: `desk` is the server there, `offer` one source, `log` one that is read in micro-batches;
`remote` is what runs in Spark's processes.
"""

from adapters.spark.writing.frame import RegisteredSource, register_source, to_dataframe

__all__ = ["RegisteredSource", "register_source", "to_dataframe"]
