"""What a type checker must infer of pipes; checked by basedpyright, together with the packages."""

from collections.abc import AsyncIterator
from typing import Any, assert_type

import pullstream as ps


def length(text: str) -> int:
    return len(text)


async def half(number: int) -> float:
    return number / 2


def inferred() -> None:
    words = ps.values(["a", "bb"])
    assert_type(words, ps.Source[str])
    assert_type(ps.pipe(words, ps.map(lambda word: len(word))), ps.Source[int])  # noqa: PLW0108
    assert_type(ps.pipe(words, ps.map(length), ps.filter(lambda n: n > 1), ps.collect()), ps.Pipeline[list[int]])
    assert_type(ps.run(ps.pipe(words, ps.map(length), ps.map_async(half, 4), ps.collect())), list[float])
    assert_type(ps.run(ps.pipe(words, ps.flat_map(lambda word: word.split()), ps.take(2), ps.collect())), list[str])
    assert_type(ps.pipe(words, ps.group_by(lambda word: word[0], ps.take(2))), ps.Source[tuple[str, str]])
    measured: ps.Transformer[str, int] = ps.map(length)
    halved: ps.Transformer[int, float] = ps.map_async(half, 4)
    assert_type(ps.pipe(measured, halved), ps.Transformer[str, float])
    assert_type(ps.pipe(words, measured, halved, ps.collect()), ps.Pipeline[list[float]])
    assert_type(ps.pipe(ps.map(length), ps.take(1)), ps.Transformer[str, int])
    assert_type(ps.pipe(ps.map(length), ps.reduce(max, 0)), ps.Sink[str, int])
    assert_type(ps.pipe(words, ps.collect(timed=True)), ps.Pipeline[list[tuple[Any, str]]])
    both = ps.tee(ps.pipe(ps.map(length), ps.collect()), ps.drain())
    assert_type(ps.run(ps.pipe(words, both)), tuple[list[int], None])


def transformers() -> None:
    words = ps.values(["a", "bb"])
    sizes: ps.Fold[str, int] = ps.Fold(int, lambda total, word: total + len(word))
    assert_type(ps.pipe(words, ps.filter_not(lambda word: word.isspace()), ps.tap(print)), ps.Source[str])
    assert_type(ps.pipe(words, ps.map(length), ps.scan(lambda a, b: a + b)), ps.Source[int])
    assert_type(ps.pipe(words, ps.scan(sizes)), ps.Source[int])
    assert_type(ps.pipe(words, ps.batch(2), ps.collect()), ps.Pipeline[list[list[str]]])
    assert_type(ps.pipe(words, ps.windowed(seconds=2), ps.skip(1)), ps.Source[list[str]])
    assert_type(ps.pipe(words, ps.split(), ps.map(str.encode), ps.decode()), ps.Source[str])
    assert_type(ps.pipe(words, ps.map(str.encode), ps.split(b";")), ps.Source[bytes])


def add_length(total: int, word: str) -> int:
    return total + len(word)


def with_word(seen: list[str], word: str) -> list[str]:
    return [*seen, word]


def first_of(seen: list[str]) -> str:
    return seen[0]


def initial(word: str) -> str:
    return word[0]


def pieces(word: str) -> list[str]:
    return word.split()


def is_long(word: str) -> bool:
    return len(word) > 3


def with_size(size: int) -> ps.Transformer[str, tuple[int, str]]:
    return ps.map(lambda word: (size, word))


def functions() -> None:
    """Types inferred from functions; not every type checker infers as much from a lambda."""
    words = ps.values(["a", "bb"])
    sizes: ps.Fold[str, int] = ps.Fold(int, add_length)
    firsts = ps.Fold(list[str], with_word, first_of)
    assert_type(ps.run(ps.pipe(words, ps.flat_map(pieces), ps.take(2), ps.collect())), list[str])
    assert_type(ps.pipe(words, ps.reduce_by_key(sizes, key=initial), ps.collect()), ps.Pipeline[list[tuple[str, int]]])
    assert_type(ps.pipe(words, ps.reduce_by_key(firsts, key=length)), ps.Source[tuple[int, str]])
    assert_type(ps.pipe(words, ps.scan(add_length, 0)), ps.Source[int])
    assert_type(ps.pipe(words, ps.reduce(add_length, 0)), ps.Pipeline[int])
    assert_type(ps.pipe(words, ps.reduce(add_length, 0, on_error="skip")), ps.Pipeline[int])
    assert_type(ps.pipe(words, ps.unique(length), ps.take(is_long, last=True)), ps.Source[str])
    assert_type(ps.pipe(words, ps.tap(length), ps.filter(is_long)), ps.Source[str])
    assert_type(ps.pipe(words, ps.stamp(length, lateness=1, late=ps.drain(print)), ps.delay(1)), ps.Source[str])
    assert_type(ps.pipe(words, ps.tumbling(10, sizes, key=initial)), ps.Source[ps.Window[tuple[str, int]]])
    assert_type(ps.pipe(words, ps.sliding(10, 5, key=length)), ps.Source[ps.Window[tuple[int, list[str]]]])
    assert_type(ps.pipe(words, ps.group_by(initial, ps.map(length))), ps.Source[tuple[str, int]])
    assert_type(ps.pipe(words, ps.group_by(length, with_size)), ps.Source[tuple[int, tuple[int, str]]])


def policies() -> None:
    words = ps.values(["a", "bb"])
    assert_type(ps.pipe(words, ps.map(int, on_error="skip")), ps.Source[int])
    assert_type(ps.pipe(words, ps.map(length, on_error="result")), ps.Source[int | ps.Failed[str]])
    assert_type(ps.pipe(words, ps.map_async(later, 2, on_error="result")), ps.Source[float | ps.Failed[str]])
    assert_type(ps.pipe(words, ps.filter(lambda word: word > "a", on_error="result")), ps.Source[str | ps.Failed[str]])
    failures: ps.Sink[ps.Failed[str], None] = ps.drain(lambda failed: print(failed.value.upper(), failed.error))
    assert_type(ps.pipe(words, ps.map(length, on_error=failures), ps.collect()), ps.Pipeline[list[int]])


def windows_and_joins() -> None:
    words = ps.values(["a", "bb"])
    sizes: ps.Fold[str, int] = ps.Fold(int, lambda total, word: total + len(word))
    failures: ps.Sink[ps.Failed[str], None] = ps.drain(lambda failed: print(failed.value.upper(), failed.error))
    assert_type(ps.pipe(words, ps.tumbling(10)), ps.Source[ps.Window[list[str]]])
    assert_type(ps.pipe(words, ps.tumbling(10, sizes, on_error=failures, origin=3)), ps.Source[ps.Window[int]])
    assert_type(ps.pipe(words, ps.sessions(10, sizes, key=length)), ps.Source[ps.Window[tuple[int, int]]])
    pairs = ps.values([("a", 1)])
    inner = ps.join(pairs, words, on=(lambda pair: pair[0], length), within=3)
    assert_type(inner, ps.Source[tuple[tuple[str, int], str]])
    left = ps.join(pairs, words, on=lambda value: value[0], how="left", on_error="skip")
    assert_type(left, ps.Source[tuple[tuple[str, int], str | None]])
    assert_type(ps.join(words, words, on=length), ps.Source[tuple[str, str]])


async def later(text: str) -> float:
    return len(text) / 2


async def counted(upstream: ps.Reader[str], ctx: ps.Context, least: int) -> int:
    count = 0
    async for batch in ctx.batches(upstream):
        count += sum(len(word) >= least for word in batch.values)
    return count


def decorated() -> None:
    assert_type(ps.run(ps.pipe(ps.values(["a", "bb"]), ps.sink(counted)(2))), int)


async def numbers() -> AsyncIterator[int]:
    yield 1


def listen(emit: ps.types.Emit[str]) -> None:
    emit("a")


def sources_and_sinks() -> None:
    assert_type(ps.values(list({1: "a"})), ps.Source[int])
    assert_type(ps.unfold(1, lambda n: (str(n), n + 1)), ps.Source[str])
    assert_type(ps.run(ps.pipe(ps.repeat("a", 3), ps.collect())), list[str])
    assert_type(ps.from_async_iterable(numbers()), ps.Source[int])
    assert_type(ps.from_awaitable(lambda: half(1)), ps.Source[float])
    assert_type(ps.from_callback(listen), ps.Source[str])
    assert_type(ps.from_asyncio(numbers), ps.Source[int])
    assert_type(ps.from_asyncio(lambda: half(2)), ps.Source[float])
    assert_type(ps.pipe(ps.values([1]), ps.map_async(ps.asyncio_call(half), 2)), ps.Source[float])
    assert_type(ps.catch_up(["a"], ps.values(["b"])), ps.Source[str])
    assert_type(ps.catch_up([1], ps.values([2]), sync=ps.Batch(0, ["-"])), ps.Source[int | str])
    words = ps.values(["a", "bb"])
    assert_type(ps.run(ps.pipe(words, ps.find(lambda word: word > "a"))), str | None)
    assert_type(ps.run(ps.pipe(words, ps.find(lambda word: word > "a", "none"))), str)
    assert_type(ps.run(ps.pipe(words, ps.last())), str | None)
    assert_type(ps.run(ps.pipe(words, ps.first(0))), str | int)
    assert_type(ps.run(ps.pipe(words, ps.concat_values())), str)
    assert_type(ps.run(ps.pipe(ps.values([[1]]), ps.concat_values(list[int]))), list[int])
    assert_type([word for word in ps.iterate(words)], list[str])  # noqa: C416 - what a loop gives


def combined() -> None:
    numbers, words = ps.values([1, 2]), ps.values(["a", "bb"])
    assert_type(ps.merge(numbers, words), ps.Source[int | str])
    assert_type(ps.merge(*[words, words]), ps.Source[str])
    assert_type(ps.concat(numbers, words), ps.Source[int | str])
    assert_type(ps.values({"a": 1}), ps.Source[int])
    assert_type(ps.merge_sorted(words, words, key=len), ps.Source[str])
    assert_type(ps.zip(numbers, words), ps.Source[tuple[int, str]])
    assert_type(ps.combine_latest(numbers, words, words), ps.Source[tuple[int, str, str]])
    assert_type(ps.run(ps.pipe(words, ps.fork(ps.map(len), ps.map(len)), ps.collect())), list[int])
    assert_type(ps.pipe(words, ps.fork(ps.map(length), ps.map(str.upper))), ps.Source[int | str])
    assert_type(ps.pipe(words, ps.fork(ps.map(length))), ps.Source[int])
    ways = [ps.map(length)]
    assert_type(ps.pipe(words, ps.fork(*ways)), ps.Source[int])
    everything: ps.Sink[str, list[str]] = ps.collect()
    longest: ps.Sink[str, str] = ps.reduce(max, "")
    assert_type(ps.run(ps.pipe(words, ps.tee(everything, ps.drain(), longest))), tuple[list[str], None, str])
    assert_type(ps.run(ps.pipe(words, ps.tee(ps.collect(), ps.last()))), tuple[list[str], str | None])
    assert_type(ps.tee(longest), ps.Sink[str, tuple[str]])
    several = [longest]
    assert_type(ps.tee(*several), ps.Sink[str, tuple[str, ...]])
    by_key: ps.Sink[str, dict[int, list[str]]] = ps.partition(len, {1: ps.collect()})
    assert_type(ps.run(ps.pipe(words, by_key)), dict[int, list[str]])
    many: ps.types.DynamicMerge[str] = ps.dynamic_merge()
    many.add(numbers)  # pyright: ignore[reportArgumentType]  # refused
    news: ps.types.Broadcast[str] = ps.broadcast(3)
    assert_type(ps.run(ps.pipe(news.listen(), ps.map(len), ps.collect())), list[int])


def halve(number: int) -> int | ps.Again[int]:
    return ps.Again(number // 2) if number % 2 == 0 else number


def number_of(failed: ps.Failed[str]) -> int:
    return len(failed.value)


def kept() -> None:
    """Known types are kept: of values that leave a loop, of failed values, of times and keys."""
    words = ps.values(["a", "bb"])
    assert_type(ps.run(ps.pipe(ps.values([6, 8]), ps.loop(ps.map(halve)), ps.collect())), list[int])
    failures = ps.pipe(ps.map(number_of), ps.drain())
    assert_type(ps.pipe(words, ps.map(length, on_error=failures), ps.collect()), ps.Pipeline[list[int]])
    batch = ps.Batch(length("abc"), ["a"])
    assert_type(batch, ps.Batch[str, int])
    match batch:
        case ps.Batch(time, _):
            assert_type(time, int)
    assert_type([ps.Batch(3, ["a"])], list[ps.Batch[str, int]])
    assert_type(
        ps.pipe(words, ps.reduce_by_key(ps.agg.max(length), key=length), ps.collect()),
        ps.Pipeline[list[tuple[int, int]]],
    )


async def read() -> None:
    async with ps.aiterate(ps.values([1])) as numbers:
        async for number in numbers:
            assert_type(number, int)


def concurrent_and_timed() -> None:
    words = ps.values(["a", "bb"])
    assert_type(ps.pipe(words, ps.map_thread(length, 2), ps.prefetch(3)), ps.Source[int])
    assert_type(ps.pipe(words, ps.map_process(length, 2, ordered=False), ps.collect()), ps.Pipeline[list[int]])
    assert_type(ps.pipe(words, ps.map_thread(length, 2, on_error="result")), ps.Source[int | ps.Failed[str]])
    assert_type(ps.pipe(words, ps.in_flight(ps.map_thread(length, 4), 2), ps.collect()), ps.Pipeline[list[int]])
    assert_type(ps.pipe(words, ps.timeout(1), ps.rate_limit(2, per=0.5), ps.collect()), ps.Pipeline[list[str]])
    assert_type(ps.pipe(words, ps.throttle(1), ps.debounce(1), ps.sample(1)), ps.Source[str])
    pause: ps.types.Pausable[str] = ps.pausable()
    stop: ps.types.Abortable[str] = ps.abortable()
    assert_type(ps.pipe(words, pause, stop, ps.map(length), ps.collect()), ps.Pipeline[list[int]])
    assert_type(ps.pipe(words, ps.pausable(), ps.map(length)), ps.Source[int])


def per_time() -> None:
    words = ps.values(["a", "bb"])
    assert_type(ps.pipe(words, ps.map_time(lambda n: n // 2), ps.stamp_epochs(3, nest=True)), ps.Source[str])
    assert_type(ps.pipe(words, ps.stamp_epochs(key=lambda word: word[0])), ps.Source[str])
    assert_type(ps.pipe(words, ps.count_by_key()), ps.Source[tuple[str, int]])
    assert_type(ps.pipe(words, ps.count_by_key(length)), ps.Source[tuple[int, int]])
    assert_type(ps.pipe(words, ps.reduce_by_time(ps.agg.count())), ps.Source[int])
    assert_type(ps.pipe(words, ps.reduce_by_time(ps.agg.max(length))), ps.Source[int])
    assert_type(ps.pipe(words, ps.reduce_by_key(ps.agg.top(2, length), key=length)), ps.Source[tuple[int, list[str]]])
    assert_type(ps.pipe(words, ps.accumulate(ps.agg.sum(length))), ps.Source[int])
    assert_type(ps.pipe(words, ps.accumulate(ps.agg.count_unique(length), key=length)), ps.Source[tuple[int, int]])
    assert_type(ps.pipe(words, ps.aggregate(n=ps.agg.count(), most=ps.agg.max(length))), ps.Source[dict[str, Any]])
    assert_type(
        ps.pipe(words, ps.aggregate(key=length, n=ps.agg.count()), ps.collect()),
        ps.Pipeline[list[tuple[int, dict[str, Any]]]],
    )
    assert_type(
        ps.pipe(words, ps.unique_by_time(lambda word: word[0]), ps.sort_by_time(lambda word: -len(word))),
        ps.Source[str],
    )
    assert_type(ps.pipe(words, ps.at_completion(print)), ps.Pipeline[None])


def even(number: int) -> bool:
    return number % 2 == 0


def plus(one: int, other: int) -> int:
    return one + other


def refused() -> None:
    ps.pipe(ps.collect(), ps.map(length))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    numbers = ps.values([1])
    ps.pipe(numbers, ps.map(length), ps.collect())  # pyright: ignore[reportArgumentType, reportCallIssue]  # refused
    ps.map(3)  # pyright: ignore[reportArgumentType]  # refused
    words = ps.values(["a", "bb"])
    wrong: ps.Source[int] = words  # pyright: ignore[reportAssignmentType]  # refused
    ps.run(words)  # pyright: ignore[reportArgumentType]  # refused
    ps.run(wrong)  # pyright: ignore[reportArgumentType]  # refused


def refused_functions() -> None:
    """Functions of other types than the values."""
    words = ps.values(["a", "bb"])
    ps.pipe(words, ps.filter(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.windowed(2, 2), ps.filter(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.unique(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.unique_by_time(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.tap(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.take(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.scan(plus))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.stamp(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.stamp_epochs(key=even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.sort_by_time(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.count_by_key(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.tumbling(10, key=even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.map_async(half, 2))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.map(length, on_error=ps.drain(even)))  # pyright: ignore  # noqa: PGH003 - four rules  # refused
    ps.pipe(words, ps.reduce_by_key(ps.agg.max(even), key=length))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.tee(ps.collect(), ps.drain(even)))  # pyright: ignore  # noqa: PGH003 - four rules  # refused
    ps.join(words, words)  # pyright: ignore[reportCallIssue]  # refused
    ps.join(words, words, on=(even, length))  # pyright: ignore[reportArgumentType]  # refused
    ps.pipe(words, ps.drain(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.find(even))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.reduce(plus, 0))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused
    ps.pipe(words, ps.concat_values(bytes))  # pyright: ignore[reportCallIssue, reportArgumentType]  # refused


everything: Any = (per_time, concurrent_and_timed, sources_and_sinks, read, inferred, decorated)
