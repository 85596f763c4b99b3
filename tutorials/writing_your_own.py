"""Writing your own: a source, a transformer, and the ways to get the ending wrong.

These are two chapters, to read after `what_a_pull_is`, whose terms, rules (R1 to R12) and drawings they use:
`python -m pullstream learn read 3` is about sources, and `read 4` about transformers and endings. Three questions:

- How do I write a module? There are three ways, and in each of them the edge keeps most of the rules for you.
- What do they save me from? We write modules by hand, as in most streaming code, make the usual mistakes, read what the
  checker says about each, and fix them.
- How do I know that mine is right? The conformance kit runs it with every behaviour that a neighbour may have.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import trio
import trio.testing

import pullstream as ps
from pullstream.checker import Violation, WatchedReader, watch
from pullstream.conformance import conformance
from tutorials.lesson import say, tell


def a_function() -> None:
    """1. The first way: pass a function to a ready-made module.

    Most modules are a plain function and a ready-made module that calls it: `map`, `filter`, `flat_map`, `scan`,
    `map_async` and so on. A composition by `pipe` is a module like any other. Put it into a function, and the rest of
    your program need not know its parts.
    """

    def words() -> ps.Transformer[str, str]:
        return ps.pipe(ps.flat_map(str.split), ps.map(str.lower), ps.unique())

    print(ps.run(ps.pipe(ps.values(["Tea and rice", "rice and salt"]), words(), ps.collect()), check=True))
    # | ['tea', 'and', 'rice', 'salt']


def a_generator() -> None:
    """2. The second way: a decorated generator.

    If a module has state or needs cleanup, write an async generator. A source yields values; it runs only when it is
    asked, and `finally` runs once, however the stream ends. A transformer receives its upstream and yields a `Batch` at
    the time of the batch that the values were computed from. Below, `take` needs two of many rows.
    """

    @ps.source
    async def rows(_: ps.Context, path: str) -> AsyncIterator[int]:
        print(f"  opens {path}")
        try:
            for number in range(1_000_000):
                print(f"  reads row {number}")
                yield number * number
        finally:
            print(f"  closes {path}")

    @ps.transformer
    async def steps(upstream: ps.Reader[int], ctx: ps.Context) -> AsyncIterator[ps.Batch[int]]:
        last = 0
        async for batch in ctx.batches(upstream):
            found: list[int] = []
            for value in batch.values:
                found.append(value - last)
                last = value
            yield ps.Batch(batch.time, found)

    print(ps.run(ps.pipe(rows("squares.csv"), steps(), ps.take(2), ps.collect()), check=True))
    # |   opens squares.csv
    # |   reads row 0
    # |   reads row 1
    # |   closes squares.csv
    # | [0, 1]


def a_kernel() -> None:
    """3. The third way: a kernel.

    A class has a method `produce`, which returns the answer to one ask. What `acquire` opens at the first ask,
    `release` closes in every ending. This is the fastest way, because it switches no tasks; the ready-made
    modules are written like this. Here is the same source.
    """

    @ps.source
    class Rows(ps.authoring.Kernel[int]):
        def __init__(self, path: str) -> None:
            self.path = path
            self.numbers = iter(range(1_000_000))

        async def acquire(self) -> None:
            print(f"  opens {self.path}")

        async def produce(self, limit: int) -> ps.Batch[int] | ps.authoring.Done:
            values = [number * number for number in islice(self.numbers, limit)]
            return ps.Batch(0, values) if values else ps.DONE

        async def release(self) -> None:
            print(f"  closes {self.path}")

    print(ps.run(ps.pipe(Rows("squares.csv"), ps.take(2), ps.collect()), check=True))
    # |   opens squares.csv
    # |   closes squares.csv
    # | [0, 1]


Answer = ps.Batch[str] | ps.authoring.Done
Scene = Callable[[WatchedReader[str]], Awaitable[object]]


class Through(ps.Reader[str]):
    """A transformer by hand: it is asked below and asks the reader above."""

    def __init__(self, upstream: ps.Reader[str]) -> None:
        self.upstream = upstream

    async def ask(self, limit: int = 1) -> Answer:
        return await self.upstream.ask(limit)

    async def abort(self) -> ps.authoring.Done:
        return await self.upstream.abort()

    async def error(self, reason: BaseException) -> ps.authoring.Done:
        return await self.upstream.error(reason)

    def abort_nowait(self) -> None:
        self.upstream.abort_nowait()

    def error_nowait(self, reason: BaseException) -> None:
        self.upstream.error_nowait(reason)

    def ack(self) -> None:
        self.upstream.ack()

    def lane(self) -> ps.Reader[str]:
        # R4 asks for a lane per task. The scenes below never use two lanes at once, so one is enough here.
        return self


def check(module: Callable[[ps.Reader[str]], ps.Reader[str]], scene: Scene, *rows: str) -> None:
    """Put a reader between two watched edges, let a scene ask it, and print the checker's report."""

    @ps.sink
    async def below(upstream: ps.Reader[str], _: ps.Context) -> None:
        name = module.__name__
        above = watch(upstream, "the source", strict=True)
        reader = watch(module(above), name, above=above)
        try:
            await scene(reader)
        except* Violation as violations:
            say(violations.exceptions[0])
        else:
            print(f"{name}: no violation")

    async def main() -> None:
        async with ps.pipe(ps.from_async_iterable(slow(rows)), below()).open() as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def slow(rows: tuple[str, ...]) -> AsyncIterator[str]:
    """Yield rows from a disk that takes a second to close, on a virtual clock."""
    try:
        for row in rows:
            yield row
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)


def numeric(answer: Answer) -> Answer:
    """Return the answer if its value is a number; otherwise raise."""
    return answer if answer is ps.DONE else ps.Batch(answer.time, [str(int(answer.values[0]))])


async def ask_thrice(reader: WatchedReader[str]) -> None:
    """Ask three times, whatever the answers; a `ValueError` is expected from some modules."""
    for _ in range(3):
        with suppress(ValueError):
            await reader.ask()


async def ask_abort_ask(reader: WatchedReader[str]) -> None:
    """Ask once, abort, and ask again, which is allowed."""
    await ask_then_abort(reader)
    await reader.ask()


async def ask_then_abort(reader: WatchedReader[str]) -> None:
    """Ask once, then abort."""
    await reader.ask()
    await reader.abort()


def by_hand() -> None:
    """4. By hand.

    An edge is used through a `Reader`; the three ways of chapter 3 make one for you. The class `Through`, just above
    this section, is a transformer by hand that only passes everything on. `check` puts it between two watched edges,
    and the checker finds nothing wrong in this scene. Mistakes begin where a module does more than pass things on:
    where it answers more or less than it receives, ends, fails, or waits.
    """
    check(Through, ask_then_abort, "tea", "rice")
    # | Through: no violation


def more_than_asked_for() -> None:
    """5. More values than were asked for.

    Each row becomes several words, and all of them are in the answer, but a consumer that asked for one value has no
    room for three. An empty row is just as wrong: an answer must have at least one value. Keep the remaining words for
    the next ask, and ask for the next row if one gives no words.
    """

    class Words(Through):
        async def ask(self, limit: int = 1) -> Answer:
            batch = await self.upstream.ask(1)
            return batch if batch is ps.DONE else ps.Batch(batch.time, batch.values[0].split())

    class WordsMended(Through):
        left: Answer = ps.DONE
        over = False

        async def ask(self, limit: int = 1) -> Answer:
            while self.left is ps.DONE:
                batch = ps.DONE if self.over else await self.upstream.ask(1)
                if batch is ps.DONE:
                    self.over = True
                    return ps.DONE
                words = batch.values[0].split()
                self.left = ps.Batch(batch.time, words) if words else ps.DONE
            time, words = self.left.time, self.left.values
            self.left = ps.Batch(time, words[limit:]) if words[limit:] else ps.DONE
            return ps.Batch(time, words[:limit])

        async def abort(self) -> ps.authoring.Done:
            # Drop the remaining words, and ask for nothing more (R3, R9).
            self.over, self.left = True, ps.DONE
            return await super().abort()

    check(Words, ask_thrice, "tea and rice")
    check(Words, ask_thrice, "", "salt")
    check(WordsMended, ask_thrice, "", "tea and rice")
    check(WordsMended, ask_abort_ask, "tea and rice", "salt")
    # | R2: nothing is produced without an ask; an answer holds at least one value and never more than asked for.
    # | Broken by Words: ask 1 was for one value, and was answered with 3. What happened:
    # |     D: ask1(Ans1) -> U: Ans1=value('tea', 'and', 'rice')
    # | R2: nothing is produced without an ask; an answer holds at least one value and never more than asked for.
    # | Broken by Words: ask 1 was for one value, and was answered with 0. What happened:
    # |     D: ask1(Ans1) -> U: Ans1=value()
    # | WordsMended: no violation
    # | WordsMended: no violation


def after_the_end() -> None:
    """6. Asking after the end, and ending twice.

    A consumer that asks again after DONE, or aborts twice, for example in two `finally` blocks, must get an answer (R3,
    R5). But `Through` passes these requests on, and so breaks R9 at the edge above it. Instead, record that the stream
    is over, and answer without asking. The same applies to failures and to `error`.
    """

    async def abort_twice(reader: WatchedReader[str]) -> None:
        await reader.abort()
        await reader.abort()

    class Remembers(Through):
        over = False

        async def ask(self, limit: int = 1) -> Answer:
            if self.over:
                return ps.DONE
            batch = await self.upstream.ask(limit)
            self.over = batch is ps.DONE
            return batch

        async def abort(self) -> ps.authoring.Done:
            if not self.over:
                self.over = True
                await self.upstream.abort()
            return ps.DONE

    check(Through, ask_thrice, "tea")
    check(Through, abort_twice, "tea")
    check(Remembers, ask_thrice, "tea")
    check(Remembers, abort_twice, "tea")
    # | R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer.
    # | Broken by Through: it asks on a lane that was already answered with the end of the stream. What happened:
    # |     D: ask1(Ans1) -> U: Ans1=value('tea')
    # |     -> D: ask2(Ans2) -> U: Ans2=done
    # |     -> D: ask3(Ans3)
    # | R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer.
    # | Broken by Through: it sends another request after its termination. What happened:
    # |     D: abort1(Ans1) -> U: Ans1=done
    # |     -> D: abort2(Ans2)
    # | Remembers: no violation
    # | Remembers: no violation


def not_passed_up() -> None:
    """7. An abort that is not passed up, or is confirmed too early, or loses its reason.

    `KeepsIt` does not pass the abort on, so the file upstream stays open forever. `TooEarly` passes it on but answers
    at once, while the file is still being closed: code that deletes or reopens the file next is too early as well.
    `LosesTheReason` turns every error into an abort, so the source may commit what it should roll back. The fix is to
    pass on what came, and to wait: `return await self.upstream.abort()`, as `Through` does. (That is right for the
    first termination; section 6 handles the second.)
    """

    class KeepsIt(Through):
        async def abort(self) -> ps.authoring.Done:
            return ps.DONE

    class TooEarly(Through):
        async def abort(self) -> ps.authoring.Done:
            self.upstream.abort_nowait()
            return ps.DONE

    class LosesTheReason(Through):
        async def error(self, reason: BaseException) -> ps.authoring.Done:
            return await self.upstream.abort()

    async def ask_then_error(reader: WatchedReader[str]) -> None:
        await reader.ask()
        await reader.error(ValueError("disk full"))

    check(KeepsIt, ask_then_abort, "tea", "rice")
    check(TooEarly, ask_then_abort, "tea", "rice")
    check(LosesTheReason, ask_then_error, "tea", "rice")
    check(Through, ask_then_error, "tea", "rice")
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released.
    # | Broken by KeepsIt: it has ended, but its upstream, the source, has not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: abort2(Ans2) -> TO: Ans2=done
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released.
    # | Broken by TooEarly: it has ended, but its upstream, the source, has not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: abort2(Ans2) -> TI: doneT2 -> TO: Ans2=done
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released.
    # | Broken by LosesTheReason: its upstream was sent abort instead of error(ValueError('disk full')). What
    # |   happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: error2(ValueError('disk full') Ans2) -> TI: abortT2(AnsT2) -> U: AnsT2=done -> TO: Ans2=done
    # | Through: no violation


def ending_by_itself() -> None:
    """8. Ending without notifying upstream.

    `UntilTotal` stops at the row that begins with "total", and nobody below will ask again. But the source is not
    notified, and waits with an open file. First abort upstream, then wait, then answer DONE.
    """

    class UntilTotal(Through):
        async def ask(self, limit: int = 1) -> Answer:
            batch = await self.upstream.ask(1)
            if batch is not ps.DONE and batch.values[0].startswith("total"):
                return ps.DONE
            return batch

    class UntilTotalMended(UntilTotal):
        over = False

        async def ask(self, limit: int = 1) -> Answer:
            batch = ps.DONE if self.over else await super().ask(limit)
            if batch is ps.DONE and not self.over:
                self.over = True
                await self.upstream.abort()
            return batch

    check(UntilTotal, ask_thrice, "tea", "total 1", "rice")
    check(UntilTotalMended, ask_thrice, "tea", "total 1", "rice")
    # | R7: a module that ends by itself aborts upstream, waits for the confirmation, then answers done.
    # | Broken by UntilTotal: it has ended, but its upstream, the source, has not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('total 1') -> TO: Ans2=done
    # | UntilTotalMended: no violation


def failing() -> None:
    """9. Three wrong ways to fail.

    A row makes no sense. `Swallows` catches the exception and reports the end: a wrong result that looks right. The
    checker sees that upstream was not notified. `Raises` lets it through, but does not notify upstream. `RaisesAnew`
    raises a new exception at every ask, so nobody can tell one failure from three. The fix: send the error upstream,
    wait, and from then on raise the same object, with its first traceback; otherwise the traceback grows with every
    ask.
    """

    class Swallows(Through):
        async def ask(self, limit: int = 1) -> Answer:
            try:
                return numeric(await self.upstream.ask(1))
            except ValueError:
                return ps.DONE

    class Raises(Through):
        async def ask(self, limit: int = 1) -> Answer:
            return numeric(await self.upstream.ask(1))

    class RaisesAnew(Through):
        async def ask(self, limit: int = 1) -> Answer:
            raise ValueError("no such table")

    class RaisesMended(Through):
        failure: ValueError | None = None

        async def ask(self, limit: int = 1) -> Answer:
            if self.failure is None:
                try:
                    return numeric(await self.upstream.ask(1))
                except ValueError as failure:
                    self.failure, self.traceback = failure, failure.__traceback__
                    await self.upstream.error(failure)
            raise self.failure.with_traceback(self.traceback)

    for module in (Swallows, Raises, RaisesAnew, RaisesMended):
        check(module, ask_thrice, "1", "two", "3")
    # | R7: a module that ends by itself aborts upstream, waits for the confirmation, then answers done.
    # | Broken by Swallows: it has ended, but its upstream, the source, has not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('1') -> TO: Ans1=value('1')
    # |     -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('two') -> TO: Ans2=done
    # | R8: a module that fails sends the error upstream, waits, then fails downstream with the same object; a
    # |   termination is confirmed with done.
    # | Broken by Raises: it has ended, but its upstream, the source, has not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('1') -> TO: Ans1=value('1')
    # |     -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('two')
    # |     -> TO: Ans2=error(ValueError("in...ase 10: 'two'"))
    # | R3: the end is final: after done only done, after a failure the same exception object again.
    # | Broken by RaisesAnew: the stream ended with the failure ValueError('no such table'), but this answer is
    # |   another, ValueError('no such table'). What happened:
    # |     D: ask1(Ans1) -> U: Ans1=error(ValueError('no such table'))
    # |     -> D: ask2(Ans2) -> U: Ans2=error(ValueError('no such table'))
    # | RaisesMended: no violation


def a_value_after_the_abort() -> None:
    """10. A value after the abort.

    `LooksUp` looks up every row in a slow service and handles one request at a time, with a lock. So an abort during
    the lookup waits for the lock. Meanwhile the lookup answers, and a consumer that has said "no more" receives a
    value. Aborts must not queue: cancel the pending ask, answer DONE, and only then confirm.
    """

    class LooksUp(Through):
        def __init__(self, upstream: ps.Reader[str]) -> None:
            super().__init__(upstream)
            self.lock = trio.Lock()

        async def ask(self, limit: int = 1) -> Answer:
            async with self.lock:
                batch = await self.upstream.ask(limit)
                await trio.sleep(1)
                return batch

        async def abort(self) -> ps.authoring.Done:
            async with self.lock:
                return await self.upstream.abort()

    class LooksUpMended(LooksUp):
        async def ask(self, limit: int = 1) -> Answer:
            with trio.CancelScope() as self.lookup:
                return await super().ask(limit)
            return ps.DONE

        async def abort(self) -> ps.authoring.Done:
            self.lookup.cancel()
            return await super().abort()

    async def abort_during_the_lookup(reader: WatchedReader[str]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader.lane().ask)
            await trio.sleep(0.5)
            await reader.abort()

    check(LooksUp, abort_during_the_lookup, "tea")
    check(LooksUpMended, abort_during_the_lookup, "tea")
    # | R5: a termination may come at any time; outstanding asks are answered before it, and never with a value.
    # | Broken by LooksUp: a value came after the termination. What happened:
    # |     D: ask1(Ans1)                    -> U: Ans1=value('tea')
    # |                  \-> D: abort2(Ans2)
    # | LooksUpMended: no violation


@ps.transformer
class Lookup(ps.authoring.Kernel[str]):
    """The slow lookup, as a kernel."""

    async def produce(self, limit: int) -> Answer:
        batch: Any = await self.upstream.ask(limit)
        await trio.sleep(1)
        return batch


def as_a_kernel() -> None:
    """11. The same, as a kernel.

    You have seen ten modules by hand, each with one mistake, and each with a fix for that mistake only. `Lookup`,
    above, makes none of them, because the kernel keeps the rules. Here it looks up two thousand rows and is stopped
    after a second and a half, while the strict checker watches. The second lookup, which is in flight, is cancelled.
    """

    async def main() -> None:
        rows = ps.from_async_iterable(slow(("tea",) * 2000))
        with trio.move_on_after(1.5):
            async with ps.pipe(rows, Lookup(), ps.drain(print)).open(limit=1, check="strict") as running:
                await running.result()
        print(f"over after {trio.current_time()} seconds, one of which it took to close the disk")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    # | tea
    # | over after 2.5 seconds, one of which it took to close the disk


def resources() -> None:
    """12. A resource that is not released, or released twice.

    One thing is visible at no edge: whether a module closes what it opened (R10). `Leaves` closes its disk when the
    rows run out. If the consumer aborts, the disk stays open. `Twice` is a hasty fix that closes it twice. The
    conformance kit finds both: it runs a module with neighbours that end in every way and at every moment, and passes
    it a disk that counts how often it is opened and closed.
    """

    class Leaves(ps.authoring.Kernel[int]):
        def __init__(self, disk: AbstractContextManager[object]) -> None:
            self.disk = disk
            self.rows = [1, 2, 3]

        async def acquire(self) -> None:
            self.disk.__enter__()

        async def produce(self, limit: int) -> ps.Batch[int] | ps.authoring.Done:
            values, self.rows = self.rows[:limit], self.rows[limit:]
            return ps.Batch(0, values) if values else self.end()

        def end(self) -> ps.authoring.Done:
            self.disk.__exit__(None, None, None)
            return ps.DONE

    class Twice(Leaves):
        async def release(self) -> None:
            self.disk.__exit__(None, None, None)

    class Mended(Twice):
        def end(self) -> ps.authoring.Done:
            return ps.DONE

    for module in (Leaves, Twice, Mended):
        report = conformance(ps.source(module), resource=True)
        found = "conforms" if report.ok else report.findings[0].rule + ": " + report.findings[0].message.splitlines()[0]
        print(f"{module.__name__}: {found}")
    # | Leaves: R10: when the end was answered, its resource had been opened once, and never closed
    # | Twice: R10: when the end was answered, its resource had been opened once, and closed twice
    # | Mended: conforms


def in_every_way() -> None:
    """13. Every way, in one line.

    So the last step for your own module is one line of a test: `conformance(Lookup).check()` raises if any rule is
    broken. In pytest, use the fixture: `def test_it(conformance): conformance(Lookup)`, with the marker
    `@pytest.mark.conformance(cells=500)` for its settings. In the shell, `python -m pullstream check FILE.py:Lookup`
    prints this table; in a checkout, try `python -m pullstream check tutorials.writing_your_own:Lookup`.

    Each combination of neighbours' behaviours is a *cell*. The kit runs 200 of them, or with `--full` all, which are
    some thousands. A mistake is a *finding*: it describes the simplest failing cell, the rule, the line, the fix, and
    the command that runs the cell again. `python -m pullstream new NAME` creates a package with a module and such a
    test.

    The kit does not know the purpose of your module, so you must state its properties, in Python or in the shell:
    `flushes=True` (`--flushes`) if it keeps values until a time is complete, as `best_seller` in `when_is_it_done`
    does, or `batches=True` if its results depend on batches; `Subject` lists them all. Do not use the kit for a module
    with threads. Its time is virtual and theirs is real, so it would report false hangs.
    """
    print(conformance(Lookup).check())
    # | module     cells  broken  rules
    # | Lookup       200       0  ok
    # | in all       200       0  ok


def what_is_kept() -> None:
    """14. State that outlives a run.

    A run with a journal may be killed, and the next run resumes from there: completed times are not repeated, and all
    other times are processed again, as a whole. So a module must keep state that lasts beyond a time in `ctx.memory`
    (in a kernel, `self.memory`), a dict that the journal saves. `memory.at(time)` returns it for changes caused by
    values at that time; its content before the change is then the state as of the previous time. Values are pickled,
    and times must ascend. A value that is changed in place is saved only if it is assigned again: append to a deque,
    then `memory["last"] = it`. Below, the first run dies at 4, and the second resumes from 1 + 2 + 3.
    """

    @ps.transformer
    async def total(upstream: ps.Reader[int], ctx: ps.Context) -> AsyncIterator[ps.Batch[int]]:
        memory = ctx.memory
        print(f"  begins with {dict(memory)}")
        async for batch in ctx.batches(upstream):
            for value in batch.values:
                memory.at(batch.time)["total"] = memory.get("total", 0) + value
            yield ps.Batch(batch.time, [memory["total"]])

    dies_at = [4]

    def shown(time: int, totals: list[int]) -> None:
        if time in dies_at:
            dies_at.clear()
            raise SystemExit
        print(f"  {time}: {totals}")

    numbers = ps.values([1, 2, 3, 4, 5], time=lambda number: number)
    job = ps.pipe(numbers, total(), ps.at_completion(shown))
    with TemporaryDirectory() as folder:
        for _ in range(2):
            with suppress(SystemExit):
                ps.run(job, journal=Path(folder, "journal"))
    # |   begins with {}
    # |   1: [1]
    # |   2: [3]
    # |   3: [6]
    # |   begins with {'total': 6}
    # |   4: [10]
    # |   5: [15]


def main() -> None:
    """Print the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
