"""Writing your own: a source, a transformer, and the ways to get the ending wrong.

Two chapters, after `what_a_pull_is`, whose words, rules (R1 to R12) and drawings they use:
`python -m pullstream learn read 3` tells of sources, and `read 4` of transformers and endings. Three questions:

1. How do I write a module? There are three ways, and in each of them the edge keeps most of the rules for you.
2. What do they save me from? We write modules by hand, as most streaming code in the world is written, make the
   mistakes that everybody makes, read what the checker says of each, and mend them.
3. How do I know that mine is right? The conformance kit tries it out in every way that a neighbour may behave.
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
    """1. The first way: a function, given to a ready module.

    Most modules are a plain function and a module that calls it: `map`, `filter`, `flat_map`, `scan`, `map_async` and
    so on. What `pipe` makes of them is a module like any other: name it, and the rest of your program need not know.
    """

    def words() -> ps.Transformer[str, str]:
        return ps.pipe(ps.flat_map(str.split), ps.map(str.lower), ps.unique())

    print(ps.run(ps.pipe(ps.values(["Tea and rice", "rice and salt"]), words(), ps.collect()), check=True))
    # | ['tea', 'and', 'rice', 'salt']


def a_generator() -> None:
    """2. The second way: a decorated generator.

    Where there is something to remember or to clean up, write an async generator. A source yields values; it runs only
    when it is asked, and `finally` runs once, however the stream ends. A transformer is given what is upstream; what
    it yields is a `Batch` at the time of the batch that it was made of. Below, `take` wants two of many rows.
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

    A class gives `produce`: the answer to one ask. What is opened in `acquire`, at the first ask, is closed in
    `release`, in every ending. It is the fastest way, for no task is switched, and the ready modules are made so. Here
    is the same source.
    """

    @ps.source
    class Rows(ps.Kernel[int]):
        def __init__(self, path: str) -> None:
            self.path = path
            self.numbers = iter(range(1_000_000))

        async def acquire(self) -> None:
            print(f"  opens {self.path}")

        async def produce(self, limit: int) -> ps.Batch[int] | ps.Done:
            values = [number * number for number in islice(self.numbers, limit)]
            return ps.Batch(0, values) if values else ps.DONE

        async def release(self) -> None:
            print(f"  closes {self.path}")

    print(ps.run(ps.pipe(Rows("squares.csv"), ps.take(2), ps.collect()), check=True))
    # |   opens squares.csv
    # |   closes squares.csv
    # | [0, 1]


Answer = ps.Batch[str] | ps.Done
Scene = Callable[[WatchedReader[str]], Awaitable[object]]


class Through(ps.Reader[str]):
    """By hand: whoever is below asks this reader, and it asks the one above."""

    def __init__(self, upstream: ps.Reader[str]) -> None:
        self.upstream = upstream

    async def ask(self, limit: int = 1) -> Answer:
        return await self.upstream.ask(limit)

    async def abort(self) -> ps.Done:
        return await self.upstream.abort()

    async def error(self, reason: BaseException) -> ps.Done:
        return await self.upstream.error(reason)

    def abort_nowait(self) -> None:
        self.upstream.abort_nowait()

    def error_nowait(self, reason: BaseException) -> None:
        self.upstream.error_nowait(reason)

    def ack(self) -> None:
        self.upstream.ack()

    def lane(self) -> ps.Reader[str]:
        # Not what R4 wants: one lane for all tasks. Below, none is taken but by who asks from no other.
        return self


def check(module: Callable[[ps.Reader[str]], ps.Reader[str]], scene: Scene, *rows: str) -> None:
    """Put a reader between two watched edges, let a scene ask it, and print what the checker says."""

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
            print(f"{name}: nothing to complain of")

    async def main() -> None:
        async with ps.pipe(ps.from_async_iterable(slow(rows)), below()).open() as running:
            await running.result()

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


async def slow(rows: tuple[str, ...]) -> AsyncIterator[str]:
    """Rows from a disk that needs a second to be closed, on a clock that jumps."""
    try:
        for row in rows:
            yield row
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)


def number(answer: Answer) -> Answer:
    """The answer, if it is a number."""
    return answer if answer is ps.DONE else ps.Batch(answer.time, [str(int(answer.values[0]))])


async def ask_thrice(reader: WatchedReader[str]) -> None:
    """Ask, whatever is answered; a failure is what one expects of some."""
    for _ in range(3):
        with suppress(ValueError):
            await reader.ask()


async def ask_abort_ask(reader: WatchedReader[str]) -> None:
    """Ask once, abort, and ask again, as one may."""
    await ask_then_abort(reader)
    await reader.ask()


async def ask_then_abort(reader: WatchedReader[str]) -> None:
    """Ask once, then abort."""
    await reader.ask()
    await reader.abort()


def by_hand() -> None:
    """4. By hand.

    What stands at an edge, for whoever asks, is a `Reader`; the three ways above make one for you. The class `Through`,
    just above this piece, is a transformer by hand that does nothing but pass everything on. `check` puts it between
    two watched edges, and of this scene the checker has nothing to say. Everything wrong begins where a module has a
    will of its own: where it answers more or less than it is answered, ends, fails, or waits.
    """
    check(Through, ask_then_abort, "tea", "rice")
    # | Through: nothing to complain of


def more_than_asked_for() -> None:
    """5. More values than were asked for.

    Each row becomes several words, and all of them are answered; but whoever asked for one has no place for three. An
    empty row is just as wrong: no values are no answer. What is left over must be kept for the next ask, and after a
    row that gives nothing the next must be asked for.
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

        async def abort(self) -> ps.Done:
            # What is left is nobody's any more, and nothing is asked for (R3, R9).
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
    # | WordsMended: nothing to complain of
    # | WordsMended: nothing to complain of


def after_the_end() -> None:
    """6. Asking after the end, and ending twice.

    Downstream may ask again after DONE, and abort twice, for instance from two `finally`s: it is only not polite.
    `Through` hands that on, and so is impolite itself, to a neighbour who may be less patient. Remember that it is
    over, and answer alone; the same goes for failures and for `error`.
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

        async def abort(self) -> ps.Done:
            if not self.over:
                self.over = True
                await self.upstream.abort()
            return ps.DONE

    check(Through, ask_thrice, "tea")
    check(Through, abort_twice, "tea")
    check(Remembers, ask_thrice, "tea")
    check(Remembers, abort_twice, "tea")
    # | R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer.
    # | Broken by Through: this lane was told before that the stream is over. What happened:
    # |     D: ask1(Ans1) -> U: Ans1=value('tea')
    # |     -> D: ask2(Ans2) -> U: Ans2=done
    # |     -> D: ask3(Ans3)
    # | R9: a requester sends at most one termination, and asks nothing after it or after a terminal answer.
    # | Broken by Through: it has sent a termination before, and this is one request more. What happened:
    # |     D: abort1(Ans1) -> U: Ans1=done
    # |     -> D: abort2(Ans2)
    # | Remembers: nothing to complain of
    # | Remembers: nothing to complain of


def not_passed_up() -> None:
    """7. An abort that is not passed up, or confirmed too early, or loses its reason.

    The first thinks that an abort is its own affair: the file above stays open for ever. The second passes it on, but
    answers at once, while the file is still being closed: whoever deletes the file next, or opens it again, is too
    early as well. The third makes every error an abort, so that the source may commit what it should roll back. To mend
    them is to pass on what came, and to wait: `return await self.upstream.abort()`, as `Through` does. (That much of it
    is right, the first time; the second it is piece 6's.)
    """

    class KeepsIt(Through):
        async def abort(self) -> ps.Done:
            return ps.DONE

    class TooEarly(Through):
        async def abort(self) -> ps.Done:
            self.upstream.abort_nowait()
            return ps.DONE

    class LosesTheReason(Through):
        async def error(self, reason: BaseException) -> ps.Done:
            return await self.upstream.abort()

    async def ask_then_error(reader: WatchedReader[str]) -> None:
        await reader.ask()
        await reader.error(ValueError("disk full"))

    check(KeepsIt, ask_then_abort, "tea", "rice")
    check(TooEarly, ask_then_abort, "tea", "rice")
    check(LosesTheReason, ask_then_error, "tea", "rice")
    check(Through, ask_then_error, "tea", "rice")
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released.
    # | Broken by KeepsIt: it is over below, and its upstream, the source, is not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: abort2(Ans2) -> TO: Ans2=done
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released.
    # | Broken by TooEarly: it is over below, and its upstream, the source, is not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: abort2(Ans2) -> TI: doneT2 -> TO: Ans2=done
    # | R6: a termination reaches the source once, with its reason, and is confirmed after everything is released.
    # | Broken by LosesTheReason: its upstream was sent abort, and not error(ValueError('disk full')). What
    # |   happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: error2(ValueError('disk full') Ans2) -> TI: abortT2(AnsT2) -> U: AnsT2=done -> TO: Ans2=done
    # | Through: nothing to complain of


def ending_by_itself() -> None:
    """8. Ending without a word.

    This one stops at the row that begins with "total", and knows that nobody below will ask again. But the source does
    not know it, and waits with an open file. Abort above first, wait, then say DONE.
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
    # | Broken by UntilTotal: it is over below, and its upstream, the source, is not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('tea') -> TO: Ans1=value('tea')
    # |     -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('total 1') -> TO: Ans2=done
    # | UntilTotalMended: nothing to complain of


def failing() -> None:
    """9. Failing in one's own way.

    A row makes no sense. The first swallows the exception and calls that the end: a wrong result that looks right. The
    checker sees an end without a word. The second lets it through, but tells nobody above. The third fails anew
    whenever it is asked, so that nobody can tell one failure from three. To mend them: tell upstream, wait, and from
    now on raise the same object, with the traceback it had at first: raised as it is, it grows one with every ask.
    """

    class Swallows(Through):
        async def ask(self, limit: int = 1) -> Answer:
            try:
                return number(await self.upstream.ask(1))
            except ValueError:
                return ps.DONE

    class Raises(Through):
        async def ask(self, limit: int = 1) -> Answer:
            return number(await self.upstream.ask(1))

    class RaisesAnew(Through):
        async def ask(self, limit: int = 1) -> Answer:
            raise ValueError("no such table")

    class RaisesMended(Through):
        failure: ValueError | None = None

        async def ask(self, limit: int = 1) -> Answer:
            if self.failure is None:
                try:
                    return number(await self.upstream.ask(1))
                except ValueError as failure:
                    self.failure, self.traceback = failure, failure.__traceback__
                    await self.upstream.error(failure)
            raise self.failure.with_traceback(self.traceback)

    for module in (Swallows, Raises, RaisesAnew, RaisesMended):
        check(module, ask_thrice, "1", "two", "3")
    # | R7: a module that ends by itself aborts upstream, waits for the confirmation, then answers done.
    # | Broken by Swallows: it is over below, and its upstream, the source, is not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('1') -> TO: Ans1=value('1')
    # |     -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('two') -> TO: Ans2=done
    # | R8: a module that fails sends the error upstream, waits, then fails downstream with the same object; a
    # |   termination is confirmed with done.
    # | Broken by Raises: it is over below, and its upstream, the source, is not. What happened:
    # |     D: ask1(Ans1) -> TI: askT1(AnsT1) -> U: AnsT1=value('1') -> TO: Ans1=value('1')
    # |     -> D: ask2(Ans2) -> TI: askT2(AnsT2) -> U: AnsT2=value('two')
    # |     -> TO: Ans2=error(ValueError("in...ase 10: 'two'"))
    # | R3: the end is for ever: after done only done, after a failure that same exception object.
    # | Broken by RaisesAnew: the stream's end is the failure ValueError('no such table'), and this answer is
    # |   another, ValueError('no such table'). What happened:
    # |     D: ask1(Ans1) -> U: Ans1=error(ValueError('no such table'))
    # |     -> D: ask2(Ans2) -> U: Ans2=error(ValueError('no such table'))
    # | RaisesMended: nothing to complain of


def a_value_after_the_abort() -> None:
    """10. A value after the abort.

    This one looks every row up in a slow service, and lets one request at a time into its code, as one does with locks.
    So an abort that comes during the lookup waits its turn; meanwhile the lookup answers, and somebody who has said "no
    more" is given a value. Aborts do not queue: cancel what is under way, answer DONE, and only then confirm.
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

        async def abort(self) -> ps.Done:
            async with self.lock:
                return await self.upstream.abort()

    class LooksUpMended(LooksUp):
        async def ask(self, limit: int = 1) -> Answer:
            with trio.CancelScope() as self.lookup:
                return await super().ask(limit)
            return ps.DONE

        async def abort(self) -> ps.Done:
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
    # | LooksUpMended: nothing to complain of


@ps.transformer
class Lookup(ps.Kernel[str]):
    """The slow lookup, as a kernel."""

    async def produce(self, limit: int) -> Answer:
        batch: Any = await self.upstream.ask(limit)
        await trio.sleep(1)
        return batch


def as_a_kernel() -> None:
    """11. The same, as a kernel.

    You have seen ten modules by hand, each wrong in its own way, and each mended in that way alone. `Lookup`, above, is
    right in all of them, for the kernel keeps the rules. Here it looks up two thousand rows, and after a second and a
    half is told to stop; the checker watches, strictly. The second lookup, which was under way, is not waited for.
    """

    async def main() -> None:
        rows = ps.from_async_iterable(slow(("tea",) * 2000))
        with trio.move_on_after(1.5):
            async with ps.pipe(rows, Lookup(), ps.log()).open(limit=1, check="strict") as running:
                await running.result()
        print(f"over after {trio.current_time()} seconds, one of which it took to close the disk")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    # | tea
    # | over after 2.5 seconds, one of which it took to close the disk


def resources() -> None:
    """12. A resource that is not released, or twice.

    One thing no edge shows: whether a module closes what it opened (R10). This one closes its disk when the rows have
    run out. If somebody aborts, it stays open; mended in haste, it is closed twice. What finds that is the conformance
    kit: it runs a module against neighbours that end in every way and at every moment, and hands it a disk that counts.
    """

    class Leaves(ps.Kernel[int]):
        def __init__(self, disk: AbstractContextManager[object]) -> None:
            self.disk = disk
            self.rows = [1, 2, 3]

        async def acquire(self) -> None:
            self.disk.__enter__()

        async def produce(self, limit: int) -> ps.Batch[int] | ps.Done:
            values, self.rows = self.rows[:limit], self.rows[limit:]
            return ps.Batch(0, values) if values else self.end()

        def end(self) -> ps.Done:
            self.disk.__exit__(None, None, None)
            return ps.DONE

    class Twice(Leaves):
        async def release(self) -> None:
            self.disk.__exit__(None, None, None)

    class Mended(Twice):
        def end(self) -> ps.Done:
            return ps.DONE

    for module in (Leaves, Twice, Mended):
        report = conformance(ps.source(module), resource=True)
        found = "conforms" if report.ok else report.findings[0].rule + ": " + report.findings[0].message.splitlines()[0]
        print(f"{module.__name__}: {found}")
    # | Leaves: R10: when the end was told, it had opened its resource once, and closed it not at all
    # | Twice: R10: when the end was told, it had opened its resource once, and closed it twice
    # | Mended: conforms


def in_every_way() -> None:
    """13. Every way, in one line.

    So the last thing to do for a module of your own is one line of a test, `conformance(Lookup).check()`, which raises
    if any rule is broken (in pytest the fixture `conformance` does that: `def test_it(conformance):
    conformance(Lookup)`, with the marker `@pytest.mark.conformance(cells=500)` for its settings); or a line in the
    shell, which prints this table: `python -m pullstream check FILE.py:Lookup`, or, in a checkout,
    `python -m pullstream check tutorials.writing_your_own:Lookup`. Each way in which neighbours may behave is a *cell*:
    200 of them are tried, with `--full` all, some thousands. What is wrong is a *finding*: it tells the simplest cell
    in words, the rule, the line, how to mend it, and the command that runs it again. `python -m pullstream new NAME`
    makes a package of your own, with a module and such a test to begin with. The kit does not know what your module is
    for; what may be expected of it you say, in Python or in the shell: `flushes=True` (`--flushes`) of one that keeps
    values back until a time is complete, such as `best_seller` in `when_is_it_done`, `batches=True` of one that looks
    at batches; `Subject` has them all. A module that uses threads is not for the kit: its time is virtual, theirs is
    real, and so hangs are found that are none.
    """
    print(conformance(Lookup).check())
    # | module     cells  broken  rules
    # | Lookup       200       0  ok
    # | in all       200       0  ok


def what_is_kept() -> None:
    """14. What lives longer than a run.

    A run with a journal may be killed, and the next one goes on from there: what is done is not given again, and all
    else is, whole times of it. So what your module keeps beyond a time goes into `ctx.memory` (in a kernel
    `self.memory`, with `carries = Carries.MEMORY`): a dict that the journal saves. `memory.at(time)` gives it, to be
    changed because of what came at that time; what is there before is then the state as of the time before. Values are
    pickled, and times must come in order. What is changed in place is saved only if it is assigned again: append to a
    deque, then `memory["last"] = it`. Below, the first run dies at 4, and the second one goes on from 1 + 2 + 3.
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
    """Tell the chapter."""
    tell(__name__)


if __name__ == "__main__":
    main()
