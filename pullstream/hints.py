"""Hints for names that `pullstream` does not have: the new name, or where to find it."""

from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Final

RENAMED: Final[Mapping[str, str]] = {
    "Beside": "types.Companion",
    "Lending": "types.WorkerPool",
    "Many": "types.DynamicMerge",
    "Stepwise": "authoring.PolledKernel",
    "TimedBatch": "Batch.of",
    "count": "integers",
    "epochs": "stamp_epochs",
    "lend": "worker_pool",
    "live": "catch_up",
    "non_unique": "duplicates",
    "rate": "rate_limit",
    "restamp": "map_time",
}
"""Names of earlier versions, and their present names."""

_RECIPE: Final = "the page 'Which module do I need?' has a recipe for it"

SOUGHT: Final[Mapping[str, str]] = {
    "to count the values of a stream, use the sink reduce(agg.count())": "count length size",
    "values(iterable) gives its values": "from_iterable from_list of to_stream TestingSource",
    "once(value) gives one value": "just return_value single",
    "values(range(n)) gives the numbers of a range, integers(start) gives them forever": "range generate_range",
    "values(list(mapping)) gives the keys of a mapping": "keys",
    "unfold(None, lambda _: (f(), None)) gives the results of f, forever": "infinite",
    "unfold(state, f) makes values from a state": "generate",
    "an async generator with @ps.source makes values, from_callback(register) takes those of callbacks": "create "
    "defer_source",
    "fail(error) fails at once": "throw throw_error raise_error error",
    "pipe(source, ..., sink) composes a pipeline, and run(pipeline) runs it": "pull compose Dataflow input output "
    "Stream",
    "run(pipe(source, drain(f))) calls f for each value": "subscribe Observer",
    "`async with pipeline.open() as running:` runs a pipeline in a trio program": "open",
    "run(pipeline) returns the sink's result": "run_main cluster_main execute start",
    "collect() gives a list": "to_list list tolist TestingSink",
    "drain(f) calls f for each value": "for_each foreach foreachBatch",
    "drain(print) prints every value, and tap(print) those that pass": "log print show",
    "tap(f) calls f for each value that passes": "do_action action through inspect peek do side_effect",
    "probe(print) shows each request and each answer": "debug spy",
    "map(f) calls f for each value": "select apply transform",
    "filter(test) keeps values": "where",
    "filter_not(test) drops values": "reject filterNot filter_false",
    "map(lambda parts: f(*parts)) calls f with the parts of each tuple": "starmap",
    "flat_map(f) gives the results one after another; for several streams at a time, "
    "pipe(map(f), flatten(concurrency=n))": "concat_map concatmap flatmap flatMap mergemap merge_map explode",
    "map_batches(f) calls f with lists of values": "flat_map_batch apply_batches",
    "map_async(f, concurrency) awaits an async function": "asyncMap async_map amap par_map paramap parallel_map "
    "mapAsync",
    "map_thread(f, concurrency) and map_process(f, concurrency) make several calls at a time": "parallel",
    "files.read_text(path) and others read files, tables.read_rows(target, query, time=column) a database, and "
    "spark.from_dataframe(df) a DataFrame": "from_file read_file read read_table read_sql",
    "files.write_text(target) and others write files, tables.write_rows(target, table) a database, and "
    "spark.write_table(target, schema) a Spark table": "to_file write_file write write_table to_sql",
    "scan(f, initial) or accumulate(fold) keep a state": "stateful_map fold_running running_total cumsum",
    "reduce(fold) folds a whole stream, reduce_by_time(fold) each time": "fold aggregate_all",
    "reduce_by_key(fold, key=f) gives a result for each key": "fold_final reduce_final fold_by_key combine_by_key",
    "count_by_key(key) counts the values of each key": "count_final count_values value_counts Counter",
    "keyed modules take key=, for example reduce_by_key(fold, key=f)": "key_on key_by keyBy",
    "aggregate(key=f, n=agg.count()) gives results by name": "agg_by groupby",
    "reduce_by_key(fold, key=f) gives a result for each key and time; tumbling(size) and sessions(gap) are windows": (
        "groupBy"
    ),
    "sessions(gap) makes windows; spark.session() starts Spark": "session",
    "reduce(agg.sum()) adds up the values": "sum",
    "reduce(agg.mean()) gives the mean": "mean average avg",
    "reduce(agg.max()) gives the greatest value": "max",
    "reduce(agg.min()) gives the least value": "min",
    "reduce(agg.max_by(f)) gives the value for which f gives the most": "max_by argmax",
    "reduce(agg.min_by(f)) gives the value for which f gives the least": "min_by argmin",
    "unique(key) keeps each value once in the whole stream, unique_by_time(key) once in each time": "distinct "
    "drop_duplicates dropDuplicates dropDuplicatesWithinWatermark dedup dedupe deduplicate",
    "duplicates(key) keeps the repeated values": "nonUnique non_distinct",
    "take(n) and skip(n) cut a stream": "islice head limit",
    "take(test) ends before the first value that fails the test": "takewhile take_while",
    "take(lambda value: not test(value)) ends at the first value that passes the test; abortable() ends a stream from "
    "outside": "take_until",
    "skip(test) begins with the first value that fails the test": "dropwhile drop_while skip_while",
    "skip(n) leaves out the first values": "tail drop",
    "last() gives the last value; windowed(n) followed by last() gives the last n": "take_last tail_n",
    "batch(n) gives lists of n values": "chunks chunk chunked buffer_with_count buffer_count batched",
    "batch(n) gives lists of n values, windowed(n) overlapping ones": "buffer",
    "use windowed(count, step); batch(count) gives lists that do not overlap": "window window_with_count window_count",
    "windowed(2) gives each value with its neighbour": "pairwise",
    "tumbling(size), sliding(size, every) and sessions(gap) are windows by time": "TumblingWindower SlidingWindower "
    "SessionWindower windowby window_by tumble session_window",
    "concat(source, source) reads one source after another": "chain cat append",
    "concat(values([first]), source) puts values in front": "start_with prepend",
    "zip(integers(), source) numbers the values; " + _RECIPE: "enumerate",
    'zip(a, b, mode="padded") continues to the end of the longest stream': "zip_longest",
    "combine_latest(a, b) gives the latest value of each": "ziplatest zip_latest",
    "join(a, b, on=key, within=d) pairs values with the same key": "interval_join",
    "partition(key, {key: sink}) sends each value to one sink, fork(...) sends each to all transformers": "branch "
    "route",
    "tee(sink, sink) shares a stream in one run, broadcast(capacity) with listeners that come and go": "share publish "
    "multicast notify",
    "broadcast(capacity) sends values to many listeners, pushable(capacity) to one stream": "Subject Observable",
    "deferred(kind) gets its module later": "defer",
    "sort_by_time() sorts the values of each time; without times, all values are at one time": "sort sorted order_by",
    "stamp(f, lateness=d) gives times, and waits for late values": "withWatermark watermark with_timestamps "
    "assign_timestamps",
    "map_time(f) and delay(step) change the times of values": "shift_time",
    "rate_limit(n, per=seconds) spaces values out": "spaceout delay_each space_out sleep",
    "throttle(seconds) passes the first value of each interval, and the latest": "throttle_first throttle_last audit",
    "catch(handler) continues after a failure": "catch_error on_error_resume_next recover rescue",
    "catch() ends the stream at a failure": "ignore_errors",
    "abortable() ends a stream from outside, and running.abort() a run": "dispose cancel stop",
    "on_end(f) is a sink that calls f at the end": "onEnd finalize finally_action do_on_end",
    "loop(transformer) sends Again(value) into the next round": "feedback enter leave loop_variable iterate_until "
    "expand",
    "merge(a, b) gives the values of several sources, and dynamic_merge() of sources that are added later": "many",
    "pushable(capacity) without an end gives nothing": "never",
    "merge(a, b) gives the values of all sources, as they arrive": "race amb interleave union",
    "repeat(value) gives one value forever; a list is repeated by repeat(list) and flat_map(list)": "cycle",
    "ctx.notify_at(time) in a module of your own requests Completed(time)": "notify_at unary_frontier unary_notify",
    "with ctx.hold(time): keeps a time open in a module of your own": "Capability retain drop",
    "run(pipeline, trace=path) records every step": "capture",
    "run(pipeline, journal=path) continues after a crash": "checkpoint checkpointLocation",
    "spark.from_streaming(df, checkpoint=folder) makes a source of a streaming DataFrame": "readStream",
    "spark.on_executors(...) runs modules in Spark's workers": "exchange transformWithState",
    "spark.register_source(name, source, schema) makes a source for Spark": "DataSource",
    "spark.from_dataframe(df) reads a DataFrame": "trigger",
    "running.progress says how far a run is, and display() shows it": "StreamingQueryListener lastProgress",
    "timely.Summary is the summary of a path": "PathSummary",
    "use trio's MockClock": "TestScheduler",
    "from_async_iterable(generator()) or from_callback(register) read a client of a message queue": "kafka mqtt "
    "rabbitmq "
    "redis websocket",
    "use worker_pool(..., dynamic=True)": "lending",
    _RECIPE: "distinct_until_changed switch_map with_latest_from",
}
"""Names of other libraries and of earlier versions, by the sentence that says what to write here."""

IN_MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    "agg": {
        "use mean": "avg average",
        "use quantile(0.5)": "median",
        "use quantile(0.95)": "percentile",
        "use count": "length len size",
        "use sum": "total",
        "use max": "maximum",
        "use min": "minimum",
        "use max_by(f)": "argmax",
        "use min_by(f)": "argmin",
        "use top(n)": "largest nlargest",
        "use count_unique": "distinct count_distinct nunique",
        "use count_unique(approximate=True)": "approx_count_distinct",
        "use most_common(n)": "mode",
        "use Fold(list, lambda values, value: [*values, value])": "list collect collect_list",
        "use Fold(set, lambda values, value: values | {value})": "collect_set set",
    },
    "columns": {
        "reduce_by_key(*keys, n=columns.count()) aggregates the rows of each key and time": "group_by groupby groupBy "
        "agg aggregate partition_by",
        "tumbling(size, *keys, at=column, lateness=d), sliding and sessions are windows": "group_by_dynamic rolling "
        "window resample",
        "sort_by_time(*columns) sorts the rows of each time": "sort order_by orderBy sort_values",
        "join(left, right, on=column, how='asof', at=column) takes the nearest row": "join_asof merge_asof "
        "asof_join asof",
        "join(left, right, on=column) joins two sources, time by time": "merge",
        "ps.merge(a, b) gives the rows of both, ps.concat(a, b) one after the other": "concat union vstack extend",
        "distinct(*keys) keeps the first row of each key and time": "unique drop_duplicates dropDuplicates",
        "with_columns(name=expression) adds columns": "with_column withColumn assign mutate with_row_index",
        "select(...) takes polars expressions, such as pl.exclude('a') or pl.col('a').alias('b')": "drop rename cast "
        "exclude col_select",
        "filter(expression) keeps rows": "where query remove",
        "filter(pl.col('a').is_not_null()) drops rows with nulls": "drop_nulls dropna",
        "ps.take(n) ends the stream after n rows; per_time(lambda rows: rows.head(n)) keeps the first of each time": (
            "head limit tail slice top_k nlargest"
        ),
        "per_time(query) runs a polars query on all rows of each time": "pivot unpivot melt explode over lazy sql "
        "map_batches pipe describe",
        "ps.map(f) calls f with each row": "map apply map_rows map_elements",
        "count() counts rows, count('a') the values of a column": "len size length n",
        "quantile(0.5, 'a') is the median": "median percentile",
        "count_unique('a') counts the distinct values": "n_unique nunique count_distinct approx_n_unique",
        "mean('a') is the average": "avg average",
        "variance('a') is the square of the standard deviation": "std stddev stdev var",
        "write expressions with polars: `import polars as pl`, pl.col('a')": "col lit when expr struct all_horizontal",
        "collect_table() collects all rows in a polars DataFrame": "collect to_polars to_pandas to_arrow toPandas "
        "DataFrame fetch show",
        "files has readers and writers, with `from pullstream import files`": "scan_parquet read_parquet scan_csv "
        "read_csv scan_ndjson read_ndjson scan_ipc read_ipc write_parquet write_csv write_ndjson write_ipc "
        "sink_parquet sink_csv sink_ndjson sink_ipc",
    },
    "errors": {
        "the errors of times are in timely, with `from pullstream import timely`": "TimelyError TimeDomainError "
        "SummaryError GraphError CycleError NegativeCountError RetreatError"
    },
    "files": {
        "read_parquet(path) reads Parquet": "scan_parquet from_parquet",
        "read_csv(path) reads CSV": "scan_csv from_csv",
        "read_jsonl(path) reads JSON Lines": "scan_ndjson read_ndjson scan_jsonl read_json scan_json from_json",
        "read_arrow(path) reads Arrow and Feather": "scan_ipc read_ipc scan_arrow read_feather scan_feather",
        "read_text(path) reads lines": "read_lines scan_lines read_txt from_textfile readTextFile",
        "a source of your own reads a file that grows: see the guide 'Files'": "tail tail_f follow watch",
        "write_parquet(target) writes Parquet": "sink_parquet to_parquet",
        "write_csv(target) writes CSV": "sink_csv to_csv",
        "write_jsonl(target) writes JSON Lines": "sink_ndjson write_ndjson sink_jsonl to_json write_json",
        "write_arrow(target) writes Arrow": "sink_ipc write_ipc sink_arrow to_feather write_feather",
        "write_text(target) writes lines": "write_lines to_textfile",
        "read_csv(path), read_jsonl(path), read_parquet(path) and others read files": "read read_file read_files load "
        "open",
        "write_csv(target), write_jsonl(target), write_parquet(target) and others write files": "write write_file "
        "write_files save",
        "tables.read_rows(target, query) reads a database, with `from pullstream import tables`": "read_database "
        "read_sql scan_delta read_delta scan_iceberg",
    },
}
"""Names of other libraries, by the module where users look for them and the sentence that says what to write there."""

DOORS: Final = (
    "types",
    "authoring",
    "duplex",
    "errors",
    "checker",
    "trace",
    "incremental",
    "files",
    "columns",
    "tables",
    "spark",
    "arrow",
    "display",
    "metrics",
    "conformance",
    "timely",
)
"""The submodules with public names of their own."""


def hint(package: str, name: str) -> str:
    """Return a sentence about what to use instead of a name the package does not have; "" if there is no hint."""
    short = package.rpartition(".")[2]
    own = IN_MODULES.get(short)
    found = [f"it is now called {RENAMED[name]}"] if own is None and name in RENAMED else []
    found += [sentence for sentence, names in (own or SOUGHT).items() if name in names.split()]
    if found:
        return "; ".join(found)
    if package != "pullstream" and name in public("pullstream"):
        return f"it is in pullstream itself: ps.{name}, with `import pullstream as ps`"
    if own is None:
        if name in DOORS:
            if name in public(f"{package}.{name}"):
                return f"it is in the module of the same name: `from {package}.{name} import {name}`"
            return f"it is a module: `from {package} import {name}`"
        if place := elsewhere(package, name):
            return place
    return _nearest(package, name) or ("write a Fold(initial, step, finish) for it" if short == "agg" else "")


def _nearest(package: str, name: str) -> str:
    known = [*public(package), *(DOORS if package == "pullstream" else ())]
    matches = get_close_matches(name, known, n=1, cutoff=0.8)
    return f"did you mean {matches[0]}?" if matches else ""


def hint_on_method(package: str, name: str) -> str:
    """Return a sentence about an attribute that a module does not have, such as a method of a library that chains."""
    if name in {"run", "execute", "result", "open"}:
        return ": run a pipeline with ps.run(pipeline)"
    if name in public(package) or hint(package, name):
        return f": modules are composed with pipe: ps.pipe(source, ps.{name}(...), ...)"
    return ""


def elsewhere(package: str, name: str) -> str:
    """Return a sentence that names the submodule with this name; "" if there is none."""
    door = next((door for door in DOORS if name in public(f"{package}.{door}")), None)
    return f"it is {door}.{name}, with `from {package} import {door}`" if door else ""


def public(module: str) -> list[str]:
    """Return the public names of a module; none if it cannot be imported, for example because a package is missing."""
    with suppress(Exception):
        found = import_module(module)
        return getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    return []
