"""What a pipeline is: its modules and what they were given, wherever in the program that is written."""

import pytest

import pullstream as ps
from pullstream.journal.fingerprint import fingerprint

ALL_KINDS = """
import trio
import pullstream as ps
from adapters import files

numbers = ps.values(range(9), time=int)
bad = ps.pipe(ps.map(repr), ps.drain(print))
channel, other = trio.open_memory_channel(0)
pair_source, pair_sink = ps.duplex.pair()


@ps.source
async def own(ctx, inner):
    yield 1


sources = [
    files.read_csv("in/*.csv", time="day", schema={"sold": "int64"}, on_error=bad),
    files.read_text("in/*.txt", on_error="result"),
    ps.concat(numbers, ps.pipe(ps.once(1), ps.map(str, on_error=bad))),
    ps.retry(ps.pipe(numbers, ps.map(int, on_error=bad)), 3),
    ps.retry(numbers, resume=lambda last: numbers),
    ps.zip(numbers, numbers),
    ps.merge_sorted(numbers, numbers, key=lambda n: n),
    ps.combine_latest(numbers, numbers),
    ps.join(numbers, ps.pipe(numbers, ps.filter(bool, on_error=bad)), on=lambda n: n),
    own(ps.pipe(numbers, ps.map(int, on_error=bad))),
    ps.from_channel(other),
    ps.from_async_iterable(other),
    ps.from_callback(print),
    ps.pushable(9),
    ps.dynamic_merge(),
    ps.broadcast(9).listen(),
    ps.deferred("source"),
    pair_source,
]
transformers = [
    ps.map(int, on_error="skip").named("whole"),
    ps.map(int, on_error="result"),
    ps.map(int, on_error=bad).named("diverted"),
    ps.map_async(trio.sleep, 2, on_error=bad),
    ps.pipe(ps.map(abs), ps.pipe(ps.scan(max, on_error=bad), ps.take(3))),
    ps.stamp(int, lateness=1, late=bad),
    ps.group_by(int, lambda key: ps.pipe(ps.map(int, on_error=bad), ps.take(1))),
    ps.flatten(),
    ps.catch(lambda exc: numbers),
    ps.loop(ps.pipe(ps.map(int, on_error=bad), ps.take(3)), capacity=10),
    ps.worker_pool(ps.map_async(trio.sleep, 2, on_error=bad), ps.map(abs), concurrency=2),
    ps.fork(ps.map(int, on_error=bad), ps.map(abs)),
    ps.in_flight(ps.map_async(trio.sleep, 2), 3),
    ps.reduce_by_key(ps.agg.mean(lambda n: n), key=int),
    ps.pausable(),
    ps.abortable(),
    ps.worker_pool(dynamic=True),
    ps.deferred("transformer"),
]
sinks = [
    ps.drain(print, on_error=bad),
    ps.partition(bool, {True: bad, False: ps.pipe(ps.map(int, on_error=bad), ps.collect())}),
    ps.tee(bad, bad.named("again")),
    ps.to_channel(channel),
    files.write_jsonl("out/{time}.jsonl"),
    ps.deferred("sink"),
    pair_sink,
]
pipeline = ps.pipe(ps.merge(*sources), *transformers, ps.tee(*sinks))
plain = ps.pipe(numbers, ps.map(int, on_error="result"), ps.map(abs, on_error=bad), ps.tee(bad, ps.collect()))
"""


def written(file, above):
    """The program, in a file, below some lines."""
    names = {"__name__": file}
    exec(compile("\n" * above + ALL_KINDS, f"{file}.py", "exec"), names)
    return names


def test_where_a_pipeline_is_written_is_no_part_of_what_it_is():
    """The same program in another file, and further down, is the same pipeline, whatever is composed in it."""
    here, there = written("here", 0), written("there", 7)
    assert here["pipeline"].modules[0].site != there["pipeline"].modules[0].site
    assert fingerprint(here["pipeline"]) == fingerprint(there["pipeline"])
    assert len(fingerprint(here["pipeline"])) > 100


def test_blueprints_are_compared_without_their_places():
    """Equal modules with equal policies are equal blueprints."""
    first = ps.map(int, on_error=ps.drain(print))
    assert first == ps.map(int, on_error=ps.drain(print))
    assert first != ps.map(int, on_error=ps.drain(repr))
    assert ps.map(int, on_error="result") == ps.map(int, on_error="result")


@pytest.mark.parametrize("policy", ["skip", "result", ps.drain(print)])
def test_a_policy_is_part_of_what_a_pipeline_is(policy):
    """Another on_error= is another pipeline."""
    assert fingerprint(ps.map(int, on_error=policy)) != fingerprint(ps.map(int))
