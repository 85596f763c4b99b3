"""`catch` and `retry`: handled failures, and the times that stay open meanwhile.

The conformance grid tests their endings.
"""

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, completions, endless, raises_at, script, until_failure

# ---- catch


def test_catch_ends_or_resumes(limit):
    """A failure becomes an end, other values at its time, or another source at times of its own."""

    def caught(*handler, **options):
        broken = script(ps.Batch(1, ["a"]), ps.Batch(3, ["b"]), Unseen())
        return ps.run(ps.pipe(broken, ps.catch(*handler, **options), ps.collect(timed=True)), limit=limit)

    before = [(1, "a"), (3, "b")]
    assert caught() == before
    assert caught(lambda _: None) == before
    assert caught(lambda exc: [type(exc), 2]) == [*before, (3, Unseen), (3, 2)]
    assert caught(lambda _: {"c": 5}) == [*before, (3, 5)]
    later = ps.values([3, 4, 6], time=lambda n: n)
    assert caught(lambda _: later) == [*before, (3, 3), (4, 4), (6, 6)]
    with pytest.raises(Unseen):
        caught(on=(KeyError, ValueError))
    with pytest.raises(ps.errors.CapabilityError, match=r"at 2, but that time is already complete\. Emit at 3 or"):
        caught(lambda _: ps.values([2], time=lambda n: n))
    with pytest.raises(TypeError, match="returned 7"):
        caught(lambda _: 7)
    with pytest.raises(TypeError, match="returned 'no'"):
        caught(lambda _: "no")


@pytest.mark.parametrize("above", [True, False])
def test_catch_after_a_module_with_a_side_sink(above, limit):
    """The sink of an `on_error` gets the failure, too, from upstream or downstream, and handles it with a `catch`."""

    def caught(*handler):
        failed = []
        sink = ps.pipe(*handler, ps.tap(lambda failure: failed.append(failure.value)), ps.drain())
        stages = [ps.map(raises_at("3", Unseen)), ps.tap(int, on_error=sink)]
        parts = stages if above else stages[::-1]
        stream = ps.pipe(ps.values("1x23"), *parts, ps.catch(lambda _: ["instead"]), ps.collect())
        return ps.run(stream, limit=limit), failed

    assert caught(ps.catch(lambda _: None)) == (["1", "2", "instead"], ["x"])
    with pytest.raises(Unseen):
        caught()


@ps.source
class Over(ps.authoring.Kernel):
    """Fails after it has completed all of its times."""

    async def produce(self, limit):
        if self.location.held == [1]:
            self.location.drop_capability()
            raise Unseen
        return ps.Batch(1, ["a"])


def test_catch_when_every_time_was_complete():
    def caught(instead):
        return ps.run(ps.pipe(Over(), ps.catch(lambda _: instead), ps.collect()))

    for nothing in None, [], ps.values([]):
        assert caught(nothing) == ["a"]
    for something in [7], ps.values([7]):
        with pytest.raises(ps.errors.CapabilityError, match=r"cannot continue with 7, because every time was complete"):
            caught(something)


# ---- retry


def test_retry_starts_over(counting, new_probe, limit):
    """Each attempt opens the source once; the last failure passes, as the same object."""
    probe = new_probe()
    boom = Unseen()
    tried = until_failure(Unseen, ps.retry(counting(probe, 2, failure=boom), 2), limit=limit)
    assert tried == ([0, 1, 0, 1, 0, 1], boom)
    assert "retry gave up after 3 attempts" in boom.__notes__
    assert probe.acquired == probe.released == 3
    probe = new_probe()
    assert ps.run(ps.pipe(ps.retry(counting(probe, 3)), ps.collect()), limit=limit) == [0, 1, 2]
    assert probe.acquired == 1


def failing_at(*ends):
    """A source of n = 0..9, each at n // 2, whose i-th opening fails after so many values."""
    openings = iter(ends)

    @ps.source
    async def source(ctx, start=0):
        last = next(openings, None)
        for n in range(start, 10):
            if last is not None and n - start >= last:
                raise Unseen
            yield ps.Batch(n // 2, [n])

    return source


def test_retry_repeats_only_open_times(limit):
    """Values at complete times are not repeated; with `skip_delivered` or `resume`, none are."""

    def run(source):
        return ps.run(ps.pipe(source, ps.collect(timed=True)), limit=limit)

    once = [(n // 2, n) for n in range(10)]
    assert run(ps.retry(failing_at(5)())) == [*once[:5], *once[4:]]
    assert run(ps.retry(failing_at(5, 3, 7)())) == [*once[:5], *once[4:7], *once[6:]]
    assert run(ps.retry(failing_at(5, 3, 7)(), skip_delivered=True)) == once
    source = failing_at(5, 1, 2, 0)
    assert run(ps.retry(source(), 4, resume=lambda last: source(last + 1))) == once
    assert run(ps.retry(failing_at(0, 0, 0)(), resume=lambda _: ps.empty())) == once
    with pytest.raises(Unseen):
        run(ps.retry(failing_at(0, 0, 0, 0)()))
    with pytest.raises(TypeError, match="returned 3"):
        run(ps.retry(failing_at(4)(), resume=lambda last: last))


def test_retry_refuses_a_source_that_can_be_read_once():
    with pytest.raises(ps.errors.ReuseError, match=r"values.*\n.*@ps\.source") as caught:
        ps.run(ps.pipe(ps.retry(ps.values(1 // n for n in (1, 0))), ps.collect()))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("lasts", "attempts", "options", "expected"),
    [
        (0, 3, {"backoff": 3}, [0, 1, 4, 13]),
        (5, 2, {"reset_after": None}, [0, 6, 13]),
        (5, 2, {"reset_after": 5.5}, [0, 6, 13]),
        (5, 2, {"reset_after": 5}, [0, 6, 12, 14]),
    ],
)
async def test_how_long_retry_waits(lasts, attempts, options, expected, autojump_clock):
    """Longer each time; an attempt that lasted long enough resets the count and the wait."""
    start = trio.current_time()
    opened = []

    @ps.source
    async def feed(ctx):
        opened.append(trio.current_time() - start)
        yield 1
        await trio.sleep(lasts if len(opened) < 3 else 0)
        raise Unseen

    with pytest.raises(Unseen) as caught:
        await ps.arun(ps.pipe(ps.retry(feed(), attempts, delay=1, **options), ps.collect()))
    assert opened == expected
    assert f"retry gave up after {attempts + 1} attempts" in caught.value.__notes__


TWO = (1.0, ps.Batch(1, ["a"]), 1.0, ps.Batch(2, ["b"]))


def caught_later():
    instead = script(10.0, ps.Batch(2, ["x"]), 10.0, ps.Batch(3, ["y"]))
    return ps.pipe(script(*TWO, Unseen()), ps.catch(lambda _: instead))


def tried_again():
    return ps.retry(script(*TWO, Unseen()), delay=10, resume=lambda _: script(*TWO, 1.0, ps.Batch(3, ["c"])))


@pytest.mark.parametrize(
    ("make", "complete", "values"),
    [(caught_later, {0: 1, 1: 2, 2: 22, 3: 22}, "abxy"), (tried_again, {0: 1, 1: 2, 2: 15, 3: 15}, "abbc")],
)
async def test_open_times_stay_open(make, complete, values, autojump_clock):
    async with ps.pipe(make(), ps.collect()).open() as running:
        assert await completions(running, complete) == complete
        assert await running.result() == [*values]


@pytest.mark.parametrize(
    "recovering",
    [
        lambda source: ps.pipe(source, ps.catch()),
        lambda source: ps.pipe(source, ps.catch(lambda _: ["instead"])),
        lambda source: ps.retry(source, None),
        lambda source: ps.pipe(ps.retry(ps.pipe(source, ps.prefetch(1))), ps.catch()),
    ],
    ids=["catch", "instead", "retry", "both"],
)
async def test_a_release_that_fails_in_an_abort_is_not_caught(recovering, autojump_clock):
    pipeline = ps.pipe(recovering(endless([], OSError("line is dead"))), ps.collect())
    with trio.fail_after(100), pytest.raises(OSError, match="line is dead"):
        async with pipeline.open() as running:
            await trio.sleep(1)
            await running.abort()
            await running.result()


async def test_a_failure_far_before_a_catch_holds_up_no_time(autojump_clock):
    days = ps.values([1, 2, 3], time=lambda day: day)
    above = ps.pipe(ps.concat(ps.merge(days)), ps.prefetch(2), ps.sort_by_time(), ps.map(lambda day: 1 // (day - 2)))
    stream = ps.pipe(above, ps.catch(lambda failure: ["instead"]), ps.loop(ps.map(str)))
    async with ps.pipe(stream, ps.collect(timed=True)).open(limit=1) as running:
        assert (await running.result())[-1][1] == "instead"
        await running.progress.completed(10)
