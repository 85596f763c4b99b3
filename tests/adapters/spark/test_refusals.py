"""Refusals of the Spark modules when composing: each error has the line of the mistake, and nothing has started."""

import pickle
import re
import threading
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pytest
from more_itertools import always_iterable
from pyspark.sql.types import LongType, StructType

import pullstream as ps
from adapters import spark
from adapters.spark.writing import remote
from tests.adapters.spark.executing.program import ROCKSDB
from tests.adapters.spark.helpers import settings

pytestmark = pytest.mark.spark

COUNT = ps.agg.count()


@pytest.fixture(scope="module")
def given(session, tmp_path_factory):
    with settings(session, ROCKSDB):
        stream = session.readStream.format("rate").load().selectExpr("*", "timestamp AS at")
        yield SimpleNamespace(
            session=session,
            days=session.range(10).selectExpr("id", "cast(id AS int) AS day", "'k' AS text", "id / 4 AS real"),
            twice=session.range(10).selectExpr("id", "id AS day", "id AS day"),
            spans=session.range(1).selectExpr("interval 3 months AS span"),
            stream=stream,
            marked=stream.withWatermark("timestamp", "2 seconds"),
            folder=tmp_path_factory.mktemp("refused") / "none",
        )


CALLS = {
    "from_dataframe": lambda given, **how: spark.from_dataframe(**{"df": given.days, **how}),
    "from_streaming": lambda given, **how: spark.from_streaming(
        **{"df": given.stream, "checkpoint": given.folder, **how}
    ),
    "on_executors": lambda given, **how: spark.on_executors(ps.map(len), **{"schema": "a long", **how})(given.days),
    "reduce_by_key": lambda given, **how: spark.reduce_by_key(
        **{"df": given.days, "fold": COUNT, "key": len, "time": "day", **how}
    ),
    "write_table": lambda given, **how: spark.write_table(**{"target": "x/", "schema": "n LONG", **how}),
    "to_dataframe": lambda given, **how: spark.to_dataframe(**{"source": ps.values([1]), "schema": "n LONG", **how}),
    "register_source": lambda given, **how: spark.register_source(
        **{"name": "x", "source": ps.values([1]), "schema": "n LONG", **how}
    ),
}


def transforming(*transformers):
    return lambda _: spark.on_executors(*transformers, schema="a long")


def writing(schema):
    """DDL is parsed when there is a session."""
    return lambda given: ps.run(
        ps.pipe(ps.values([(1,)]), spark.write_table(given.folder, schema, time="n", session=given.session))
    )


def kept(*transformers, frame="marked", **how):
    options = {"schema": "n long", "by": "value", "time": "timestamp", **how}
    return lambda given: spark.on_executors(*(transformers or [ps.map(len)]), **options)(getattr(given, frame))


MISTAKES = {
    "from_dataframe": {
        "got as_='pandas': it must be 'rows', 'tuples', 'dicts' or 'batches'": {"as_": "pandas"},
        "got lateness=3 without time=": {"lateness": 3},
        "got late='drop' without lateness=.* With lateness=0 ": {"late": "drop", "time": "id"},
        "got late='keep': it must be 'error', 'drop' or a sink": {"late": "keep", "time": "id", "lateness": 1},
        "lateness must be of type int, and not negative": {"lateness": -1, "time": "id"},
        r"cannot use time='\*', which is 4 columns: give one": {"time": "*"},
        "for times that are strings": {"lateness": 3, "time": "text"},
        "no column for time='dya'; its columns are id, day, text, real$": {"time": "dya"},
        "time='real', which is of type double": {"time": "real"},
        "needs time= to be the name of a column or a column expression, but got 3": {"time": 3},
        r"needs a Spark DataFrame, but got \[1\] \(list\)": {"df": [1]},
        r"got a pandas\.DataFrame; session\.createDataFrame\(": {"df": pd.DataFrame({"day": [1]})},
        "got a streaming one": lambda given: spark.from_dataframe(given.stream),
        "several columns named day": lambda given: spark.from_dataframe(given.twice, time="id"),
        "cannot read span.* cast them to STRING or INT": lambda given: spark.from_dataframe(given.spans),
    },
    "from_streaming": {
        "needs a checkpoint, the path of a folder used for nothing else, but got None: Spark": {"checkpoint": None},
        "needs a checkpoint": {"checkpoint": ""},
        "got trigger='sometimes': use None .* 'availableNow'": {"trigger": "sometimes"},
        "got trigger=5": {"trigger": 5},
        "got as_='lists'": {"as_": "lists"},
        "got output_mode='overwrite'": {"output_mode": "overwrite"},
        "needs query_name= to be a str, but got 3": {"query_name": 3},
        "needs status= to be a StreamStatus": {"status": True},
        r"needs a streaming Spark DataFrame, but got \[1\] \(list\)": {"df": [1]},
        "is not a stream: use from_dataframe": lambda given: spark.from_streaming(given.days, checkpoint="x"),
        "several columns named at": lambda given: spark.from_streaming(given.stream.select("at", "at"), checkpoint="x"),
        "cannot read span.* cast them to STRING or INT": lambda given: spark.from_streaming(
            given.stream.selectExpr("make_ym_interval(1) AS span"), checkpoint="x"
        ),
    },
    "on_executors": {
        "needs at least one transformer": transforming(),
        r"part 1, values\(\[1\]\), is a source": transforming(ps.values([1])),
        r"part 2, drain\(\), is a sink": transforming(ps.map(len), ps.drain()),
        "needs the argument 'schema'": lambda _: spark.on_executors(ps.map(len)),
        "got as_='table'": {"as_": "table"},
        r"needs a Spark DataFrame, but got \[1\]": lambda given: transforming(ps.map(len))(given)([1]),
        "cannot read the schema 'a lung': .*Unsupported data type \"LUNG\"": {"schema": "a lung"},
        "cannot read the schema 'a interval': .*not supported in conversion to Arrow": {"schema": "a interval"},
        "cannot read span, as PyArrow has no intervals": lambda given: transforming(ps.map(len))(given)(given.spans),
        "needs its columns as a schema": {"schema": 3},
        "several columns named a": {"schema": "a long, a int"},
        "several columns named id": lambda given: spark.on_executors(ps.map(len), schema="a long", as_="dicts")(
            given.days.select("id", "id")
        ),
        "has no column for time='dya'; its columns are id, day, text, real": {"time": "dya"},
        "by='real', which is of type double": {"by": "real"},
        "needs by= to be the name of a column or a column expression, but got 3": {"by": [3]},
        "give both by= and time=": [kept(by=()), kept(time=None)],
        "uses the watermark .*withWatermark": [kept(time="at"), kept(frame="stream")],
        "assigns its own times": kept(ps.stamp(lambda row: row.at)),
        "depends on the clock": [kept(ps.debounce(0.1)), kept(ps.batch(3, seconds=1)), kept(ps.timeout(1))],
        "one output": kept(ps.map(len, on_error=ps.collect())),
    },
    "reduce_by_key": {
        r"use Fold\(\.\.\., merge=": {"fold": ps.Fold(int, lambda n, _: n + 1)},
        "needs a Fold": {"fold": "count"},
        "needs a callable for its argument 'key'": {"key": "k"},
        r"needs a Spark DataFrame, but got \[1\] \(list\)": [{"df": [1]}, {"df": [1], "time": None}],
        "has no column for time='dya'; its columns are id, day, text, real": {"time": "dya"},
        "got as_='dict'": {"as_": "dict"},
        "got a streaming one: use from_streaming$": [
            lambda given: spark.reduce_by_key(given.stream, COUNT, key=len),
            lambda given: spark.reduce_by_key(given.stream, COUNT, key=len, time="timestamp"),
        ],
    },
    "write_table": {
        "catalog=True, the name of a table, .* got 'a fo": {"target": "a folder", "catalog": True},
        "makes the partitions itself, .* day=.* got 'x/{time}.parquet'": {"target": "x/{time}.parquet", "time": "day"},
        "needs a folder, but got ''": {"target": ""},
        "needs a folder, but got 3": {"target": 3},
        "got format='csv': it must be 'parquet', 'orc' or 'delta'": {"format": "csv"},
        "needs the package delta-spark": {"format": "delta"},
        "needs time= to be a column name": {"time": ""},
        "needs a Spark session, .* but got 3": {"session": 3},
        "already has a column 'n'": [
            {"schema": pa.schema([("n", pa.int64())]), "time": "n"},
            {"schema": StructType().add("n", LongType()), "time": "n"},
            writing("n LONG"),
        ],
        "cannot read the schema": writing("item STRUNG"),
    },
    "to_dataframe": {
        "needs a Spark session, .* but got 3": {"session": 3},
        r"reads a source, but got \[1\]": {"source": [1]},
        "number of bytes, at least 1": [{"replay": size} for size in (0, -1, True, "1 GB")],
        "needs its columns as a schema .* but got 3": {"schema": 3},
        "needs its columns as a schema .* but got ''": {"schema": ""},
        "use only one": {"replay": 1, "prune": lambda source, _: source},
    },
    "register_source": {
        r"reads a source, but got \[1\]": {"source": [1]},
        "add offsets='times'": {"journal": "x.journal"},
        "a name without a slash": {"name": "a/b"},
        "got offsets='rows': it must be 'values' or 'times'": {"offsets": "rows"},
        "needs a classic session.* use write_table to write": {
            "session": type("SparkSession", (), {"__module__": "pyspark.sql.connect.session", "is_stopped": False})()
        },
    },
}


@pytest.mark.parametrize(("name", "message"), [(name, message) for name in MISTAKES for message in MISTAKES[name]])
def test_refused_when_composing(name, message, given, capfd):
    for mistake in always_iterable(MISTAKES[name][message], base_type=dict):
        with pytest.raises(ps.CompositionError, match=rf"(?s)^{name}\(\) at {re.escape(__file__)}:\d+.*{message}"):
            mistake(given) if callable(mistake) else CALLS[name](given, **mistake)
    assert capfd.readouterr() == ("", "")
    assert not given.folder.exists()


def test_on_executors_is_not_a_module():
    """`on_executors` returns a function of a DataFrame, and the error shows how to use it."""
    made = spark.on_executors(ps.map(str.upper), ps.take(3), schema="a string")
    assert repr(made) == "on_executors(map(str.upper), take(3))"
    with pytest.raises(ps.CompositionError, match=r"of a DataFrame: a source is from_dataframe\(df.transform\("):
        ps.pipe(ps.values([1]), made, ps.collect())


def test_transformers_that_cannot_be_sent(given):
    """A lock or a frame: the error has the module that holds it and the reason."""
    for held, reason in ((threading.Lock(), "'_thread.lock'"), (CALLS["from_dataframe"](given), "a DataFrame lives")):
        with pytest.raises(ps.CompositionError, match=rf"map\(.* cannot be sent to the executors: .*{reason}"):
            spark.on_executors(ps.map(lambda row, held=held: held), schema="a long")


def test_an_unsuitable_state_store(given):
    default = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    message = r"session.conf.set\('spark.sql.streaming.stateStore.provider"
    with (
        settings(given.session, {"spark.sql.streaming.stateStore.providerClass": default}),
        pytest.raises(ps.CompositionError, match=message),
    ):
        kept()(given)


@pytest.mark.parametrize("name", [name for name in CALLS if name != "write_table"])
def test_a_stopped_session(name, given, monkeypatch):
    """Spark itself gives no reason."""
    how = {"session": given.session} if name in {"to_dataframe", "register_source"} else {}
    monkeypatch.setattr(given.session.sparkContext, "_jsc", None)
    with pytest.raises(ps.CompositionError, match=rf"^{name}\(\) at .* session (was|that was) stopped: use another"):
        CALLS[name](given, **how)


@pytest.mark.parametrize("name", ["from_dataframe", "from_streaming"])
def test_a_source_is_not_pickled(name, given):
    """A DataFrame belongs to its driver; the message names it."""
    with pytest.raises(TypeError, match=rf"{name}\(DataFrame\[.*cannot be pickled"):
        pickle.dumps(CALLS[name](given))


@pytest.mark.parametrize("rows", ["0", "-1", "many"])
def test_an_invalid_size_of_micro_batches(rows):
    """With no rows, the query would wait forever."""
    with pytest.raises(remote.PullSourceError, match=f"maxRowsPerBatch is .* at least 1, not '{rows}'"):
        remote.PullSource({"path": "x", "maxRowsPerBatch": rows})
