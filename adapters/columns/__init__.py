"""Compute with columns: polars expressions, aggregates and queries over the rows of a stream, without Python rows.

>>> import polars as pl, pullstream as ps
>>> from pullstream import columns
>>> rows = [("AA", 30), ("UA", 15), ("AA", None)]
>>> flights = ps.values([{"carrier": carrier, "delay": delay} for carrier, delay in rows])
>>> late = columns.filter(pl.col("delay").is_not_null())
>>> ps.run(ps.pipe(flights, late, columns.reduce_by_key("carrier", mean=columns.mean("delay")), ps.collect()))
[{'carrier': 'AA', 'mean': 30.0}, {'carrier': 'UA', 'mean': 15.0}]

Readers of files and DataFrames give rows that stay in Arrow until a module needs them. These modules take and give such
rows; all other modules receive named tuples or dicts.
"""

from pullstream.authoring import publish

from .aggregates import (
    Aggregate as Aggregate,
    all as all,
    any as any,
    count as count,
    count_unique as count_unique,
    first as first,
    last as last,
    max as max,
    mean as mean,
    min as min,
    quantile as quantile,
    sum as sum,
    variance as variance,
)
from .join import join as join
from .package import ColumnError as ColumnError, ColumnsMissing as ColumnsMissing
from .per_row import filter as filter, select as select, with_columns as with_columns
from .per_time import per_time as per_time, sort_by_time as sort_by_time
from .reducing import distinct as distinct, reduce_by_key as reduce_by_key, reduce_by_time as reduce_by_time
from .stamping import stamp as stamp
from .table import collect_table as collect_table
from .windows import sessions as sessions, sliding as sliding, tumbling as tumbling

publish(__name__)
