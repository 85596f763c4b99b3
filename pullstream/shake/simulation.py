"""One simulated run of a pipeline: choices decide its course, and everything that can be judged is noted."""

import gc
import io
import os
import sys
import threading
from bisect import bisect_left
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from reprlib import Repr
from typing import Any, Final, TypeAlias, cast

import attrs
import trio
from trio.testing import MockClock
from typing_extensions import override

from pullstream.blueprint.shown import ADDRESS
from pullstream.conformance.trial import living_tasks
from pullstream.decorators import transformer
from pullstream.engine.sidecar.location import Ending
from pullstream.errors import Abandoned, CompositionError, PullstreamError, failure_in
from pullstream.logger import LOG
from pullstream.program.pipeline import Pipeline
from pullstream.program.running import Running
from pullstream.protocol import Batch
from pullstream.shake.choices import Choice, Choices
from pullstream.shake.disk import Disk, Killed
from pullstream.shake.door import decided_by, enter
from pullstream.shake.edges import EdgeWatcher, InsertedPause, ShakeFailure
from pullstream.timely import less_equal
from pullstream.trace.file import Trace

MadePipeline: TypeAlias = Any
"""A pipeline, or a tuple of it and async functions of the Running, which use its handles while it runs."""

LIMITS: Final = (4096, 1, 2, 3, 7, 64)
"""The limits of a run; the first is the default."""

JUMPS: Final = (0.0, 0.0005, 0.1, 1.0, 10.0)
"""The seconds by which the clock may advance too far while all tasks wait: tasks then wake up together."""

WORK: Final = (0.0, 0.003, 0.012, 0.1)
"""The seconds of work that a step may take."""

ANSWERS: Final = (0.0, 0.0, 0.01, 1.0)
"""The seconds that a thread may take; the second one is only a checkpoint."""

WAYS: Final = ("abort", "finish", "cancel")

PATIENCE: Final = 1e6
"""The virtual seconds after which a run counts as hanging."""

GRACE: Final = 1e5
"""The virtual seconds that a release may take: longer than all pauses and jumps of the clock."""

ROUNDS: Final = 20_000
"""The rounds of the scheduler that a run may take, or twenty times as many as the undisturbed run."""


MOST: Final = 100_000
"""The values that a sink may receive in the undisturbed run, and the asks of a module: more counts as endless."""


@attrs.frozen
class Delivery:
    """A value that arrived at a sink, at its logical time; `shown` is its text then, because it may change later."""

    time: Hashable
    value: Any
    shown: str


@attrs.define(eq=False)
class Simulated:
    """A simulated run: what arrived where, how it ended, and what it left behind."""

    choices: Choices
    delivered: dict[str, list[Delivery]] = attrs.field(factory=dict[str, list[Delivery]])
    """The values at each sink, in order of arrival."""
    ending: str = "complete"
    """The ending: complete, failed, abandoned, hanging or killed."""
    failure: BaseException | None = None
    endless: str = ""
    """The reason for giving it up, if there were too many values or asks."""
    result: Any = None
    way: str = ""
    """The disturbance, if there was one: abort, finish, cancel, or fail."""
    moments: list[float] = attrs.field(factory=list[float])
    """The virtual time at each round of the scheduler."""
    watcher: EdgeWatcher | None = None
    late: str = ""
    """A value that arrived at a sink after its time was complete."""
    left: list[str] = attrs.field(factory=list[str])
    """Leftovers: tasks, threads, open files, holds."""
    trace: str = ""
    resumed: bool = False
    """Whether it resumed an earlier run with its journal."""
    cut_short: bool = False
    """Whether an earlier run may have changed the results: it was finished, or a module handled a failure."""
    changes: int = 0
    """The number of writes to the disk, if it has a journal."""
    died: str = ""
    """The write at which it was killed."""
    files: Mapping[str, bytes] = attrs.field(factory=dict[str, bytes])
    """The files in its folder after the run, without the journal."""

    @property
    def asks(self) -> Mapping[str, int]:
        """The number of answers that each module was asked for."""
        return {} if self.watcher is None else self.watcher.asks

    @property
    def injected(self) -> ShakeFailure | None:
        """The failure that the simulation raised, if it did."""
        return None if self.watcher is None else self.watcher.raised

    def story(self) -> list[str]:
        """Return the deviations in words."""
        return [told for told in self.choices.descriptions.values() if told]

    def verdict(self) -> Sequence[str]:
        """Return the model's objections to the run's progress."""
        lines = self.trace.splitlines()
        verdict = Trace.of([*lines[:1], *lines[1:][-1:]]).verdict if lines else None
        return [] if verdict is None else [f"{rule}: {why}" for _, rule, why in verdict["objections"]]


class Simulation(trio.abc.Instrument):
    """Runs a pipeline once, as choices decide."""

    def __init__(
        self,
        make: Callable[[], MadePipeline],
        choices: Choices,
        *,
        like: Simulated | None = None,
        disk: Disk | None = None,
        last: bool = True,
    ) -> None:
        self._make = make
        self._choices = choices
        self._like = like
        self._disk = disk
        # A run without a journal may end in any way; one with a journal only if another run resumes it.
        self._ends = like is not None and not (disk and last)
        self._clock = MockClock(autojump_threshold=0)
        self._completed: list[Hashable] = []
        self._most = ROUNDS if like is None else max(ROUNDS, 20 * len(like.moments))
        self._outside = trio.CancelScope()
        self.out = Simulated(choices)

    def run(self, seed: int = 0) -> Simulated:
        """Run it, and return what happened."""
        out = self.out
        threads, files = _threads(), _files()
        # A warning of the run would be repeated for each seed.
        quiet, LOG.disabled = LOG.disabled, True
        unraised: list[Any] = []
        hook, sys.unraisablehook = sys.unraisablehook, unraised.append
        crash, disk = "", self._disk
        try:
            with decided_by(self, seed), disk.used() if disk else nullcontext():
                trio.run(self._main, clock=self._clock, instruments=[self])
        except Killed:
            pass  # in the function that makes the pipeline
        except trio.TrioInternalError as exc:
            crash = str(exc.__cause__ or exc)
        finally:
            LOG.disabled = quiet
            if crash:
                # Its tasks cannot be ended, and would print errors when they are garbage-collected.
                self._outside, out.watcher = trio.CancelScope(), None
                sys.unraisablehook = lambda _: None
                unraised.clear()
                for _ in range(3):  # an async generator is revived by its finalizer
                    gc.collect()
            sys.unraisablehook = hook
            for each in unraised:
                hook(each)
        if crash:
            out.ending, out.failure = "hanging", RuntimeError(crash)
        out.left += [f"the thread {name}" for name in sorted(_threads() - threads)]
        if disk is not None:
            out.changes = disk.changes
            if disk.dead:
                out.ending, out.died, out.failure, out.left = "killed", disk.dead, None, []
                return out
        out.left += [f"an open file, {name}" for name in sorted(_files() - files)]
        return out

    # ---- decisions, for the door

    def order(self, tasks: list[trio.lowlevel.Task]) -> None:
        """Choose the order of steps: one task is preferred, or made to wait for all others."""
        count = len(tasks)
        if len(self.out.moments) > 2 * self._most:
            raise RuntimeError("it does not end, although it was cancelled")
        if count < 2:
            return
        chosen = self._choices.choose("order", 2 * count, lambda option: self._told_order(tasks, option))
        if not chosen:
            return
        number, last = divmod(chosen, 2)
        task = tasks.pop(number)
        if last:
            tasks.append(task)
        else:
            tasks.insert(0, task)

    def _told_order(self, tasks: list[trio.lowlevel.Task], option: int) -> str:
        number, last = divmod(option, 2)
        names = [*map(_task_name, tasks)]
        name = names.pop(number)
        others = [f"another task of {name}" if other == name else other for other in names]
        where = "after" if last else "before"
        return f"{name} took its step {where} {', '.join(dict.fromkeys(others))}"

    def worked(self) -> float:
        """Choose how long a step worked."""
        now = self._clock.current_time()
        return self._choices.pick("work", WORK, lambda work: f"after {now:g} s a step took {work:g} s of work")

    async def call(self, function: Callable[..., Any], args: tuple[Any, ...], *, abandon: bool) -> Any:
        """Call a function in place of a thread, which may begin and answer late."""
        name = getattr(function, "__qualname__", type(function).__name__)
        try:
            with trio.CancelScope(shield=not abandon):
                await self._waited(f"the thread of {name} began", name)
        except trio.Cancelled:
            # An abandoned thread continues, and nothing receives its result.
            if self._choices.choose("abandoned", 2, lambda _: f"the thread of {name} was abandoned, and ran", name):
                with suppress(Exception):
                    function(*args)
            raise
        try:
            answer = function(*args)
        finally:
            with trio.CancelScope(shield=not abandon):
                await self._waited(f"the thread of {name} answered", name)
        return answer

    async def _waited(self, what: str, name: str) -> None:
        await trio.sleep(self._choices.pick("thread", ANSWERS, lambda late: f"{what} {late:g} s late", name))

    # ---- the rounds of trio

    @override
    def before_io_wait(self, timeout: float) -> None:
        out = self.out
        out.moments.append(self._clock.current_time())
        if len(out.moments) > self._most:
            out.ending = "hanging"
            self._outside.cancel()
        if timeout == 0.0 and self._choices.may("clock"):
            statistics = trio.lowlevel.current_statistics()
            ahead = statistics.seconds_to_next_deadline
            # Nothing happens after the last deadline: a jump past it would end the run instead.
            now = self._clock.current_time()
            if not statistics.tasks_runnable and 0 < ahead < self._outside.deadline - now:
                told = f"after {now:g} s the clock advanced {{:g}} s too far"
                jump = self._choices.pick("clock", JUMPS, told.format)
                if jump:
                    self._clock.jump(ahead + jump)

    # ---- the program

    async def _main(self) -> None:
        out, choices = self.out, self._choices
        enter(self)
        before = living_tasks()
        pipeline, *companions = self._made()
        limit = choices.pick("limit", LIMITS, "the run's limit was {}".format, share=0.5)
        watcher = out.watcher = EdgeWatcher(choices, self._arrived, self._asked)
        choices.on_deviation = watcher.deviated
        trace = io.StringIO()
        self._outside = trio.CancelScope(deadline=trio.current_time() + PATIENCE)
        journal = None if self._disk is None else self._disk.journal
        running: Running[Any] = pipeline.open(
            limit=limit, check=watcher, trace=trace, journal=journal, release_timeout=GRACE
        )
        try:
            with self._outside:
                async with running, trio.open_nursery() as nursery:
                    for companion in companions:
                        nursery.start_soon(companion, running)
                    self._watch_times(running, nursery)
                    self._choose_ending(running, nursery, watcher)
                    await running.wait()
                    nursery.cancel_scope.cancel()
                out.result = await running.result()
        except BaseException as exc:
            if self._disk is not None and self._disk.dead:
                return
            failure = failure_in(exc)
            if failure is None:
                raise
            out.failure = failure
            out.ending = "abandoned" if isinstance(failure, Abandoned) else "failed"
        if self._outside.cancelled_caught and out.ending != "hanging":
            out.ending = "abandoned" if out.way == "cancel" else "hanging"
        out.trace = trace.getvalue()
        out.left += [f"a task, {name}" for name in sorted(_task_name(task) for task in living_tasks() - before)]
        if out.ending == "complete":
            # A module that was aborted by a cancelled ask keeps its times until the module downstream has ended.
            aborted = {location.name for location in watcher.locations if location.ending is Ending.ABANDONED}
            stamps = running.progress.pointstamps()
            out.left += [f"a pointstamp: {stamp}" for stamp in stamps if stamp.holder not in aborted]

    def _made(self) -> list[Any]:
        made = self._make()
        parts: list[Any] = [*made] if isinstance(made, tuple) else [made]
        if not (parts and isinstance(parts[0], Pipeline) and all(map(callable, parts[1:]))):
            raise CompositionError(
                f"shake() needs a function that returns a complete pipeline, alone or in a tuple with async functions, "
                f"but it returned {made!r}"
            )
        given = cast("Pipeline[Any]", parts[0])
        if self._disk is not None:
            # A journal belongs to one pipeline.
            return parts
        modules = given.modules[:1]
        for number, module in enumerate(given.modules[1:], 1):
            told = partial("a pause was inserted before {}".format, module.name)
            if not module.follows and self._choices.choose("insert", 2, told, str(number), share=0.2):
                modules += transformer(InsertedPause)().named("inserted pause").modules
            modules += (module,)
        return [Pipeline[Any](modules), *parts[1:]]

    def _arrived(self, sink: str, batch: Batch[Any]) -> None:
        row = self.out.delivered.setdefault(sink, [])
        self._more(len(row), f"{sink} has received more than {MOST:,} values of")
        for time, value in zip(batch.times, batch.values, strict=True):
            row.append(Delivery(time, value, shown(value)))
            if self._completed and not self.out.late and any(_at_most(time, over) for over in self._completed):
                self.out.late = f"{shown(value)} arrived at {sink} at {time!r}, which was complete"

    def _asked(self, name: str, number: int) -> None:
        self._more(number, f"{name} was asked more than {MOST:,} times in")

    def _more(self, number: int, what: str) -> None:
        """Give up the undisturbed run if it has too many values or asks."""
        if self._like is None and number > MOST:
            self.out.endless = (
                f"shake() needs a pipeline that ends by itself, but {what} this one. End its source, for example with "
                f"take(n), or return it with an async function that calls running.finish()"
            )
            raise PullstreamError(self.out.endless)

    def _watch_times(self, running: Running[Any], nursery: trio.Nursery) -> None:
        """Wait for some times at all sinks, as a program may, so that every completion is announced."""
        like = self._like
        if like is None:
            return
        times = list(dict.fromkeys(each.time for row in like.delivered.values() for each in row))
        for time in times[:: max(1, len(times) // 3)]:
            nursery.start_soon(self._until_complete, running, time)

    async def _until_complete(self, running: Running[Any], time: Hashable) -> None:
        try:
            await running.progress.completed(time)
        except Exception:  # noqa: BLE001 - the run's failure, which is judged by itself
            return
        self._completed.append(time)

    def _choose_ending(self, running: Running[Any], nursery: trio.Nursery, watcher: EdgeWatcher) -> None:
        """Choose whether and when the run is aborted, finished or cancelled, or a module fails."""
        like = self._like
        if like is None or not self._ends:
            return
        asks = {name: number + 1 for name, number in like.asks.items() if name in watcher.edges}
        rounds = len(like.moments) + 8
        choices = self._choices
        chosen = choices.choose("ending", (len(WAYS) + 1) * rounds, lambda _: "", share=0.5)
        if not chosen:
            return
        choice = next(reversed(choices.deviations))
        way, at = divmod(chosen, rounds)
        if way < len(WAYS):
            nursery.start_soon(self._strike, WAYS[way], choice, at, running)
            return
        # The rest are failures, spread over all asks of all modules.
        at = (chosen - len(WAYS) * rounds) * sum(asks.values()) // rounds
        for name, number in asks.items():
            if at < number:
                watcher.raises = name, at + 1
                self.out.way = "fail"
                choices.descriptions[choice] = f"{name} raised an exception when it was asked for answer {at + 1}"
                return
            at -= number

    async def _strike(self, way: str, choice: Choice, at: int, running: Running[Any]) -> None:
        """Strike at the moment of a round of the undisturbed run, to meet what wakes up then, or a step later."""
        assert self._like is not None
        moments = self._like.moments
        moment = moments[min(at, len(moments) - 1)]
        await trio.sleep_until(moment)
        for _ in range(at - bisect_left(moments, moment)):
            await trio.lowlevel.checkpoint()
        out = self.out
        assert out.watcher is not None
        busy = " and ".join(f"{name} was asked for answer {number}" for name, number in out.watcher.busy.items())
        done = {"abort": "aborted", "finish": "finished", "cancel": "cancelled"}[way]
        out.way = way
        told = f"after {self._clock.current_time():g} s the run was {done}" + (f", while {busy}" if busy else "")
        self._choices.descriptions[choice] = told
        out.watcher.deviated(told)
        if way == "abort":
            running.abort_nowait()
        elif way == "cancel":
            self._outside.cancel()
        else:
            await running.finish()


def shown(value: object) -> str:
    """Return the text of a value, the same in every run: without addresses, and with the members of sets sorted."""
    try:
        text = repr(value)
        if "{" in text:
            text = _SORTED.repr(value)
    except Exception as exc:  # noqa: BLE001 - the user's
        return f"<{type(value).__name__}, whose repr raised {type(exc).__name__}>"
    return text if " at 0x" not in text else ADDRESS.sub(" at 0x...", text)


_SORTED: Final = Repr()
for _limit in vars(_SORTED):
    if _limit.startswith("max"):
        setattr(_SORTED, _limit, sys.maxsize)


def _at_most(time: Any, other: Any) -> bool:
    try:
        return less_equal(time, other)
    except TypeError:
        return False


def _task_name(task: trio.lowlevel.Task) -> str:
    """Return a name for a task: the module that it belongs to, if known; else its function."""
    frame = getattr(task.coro, "cr_frame", None)
    owner = None if frame is None else frame.f_locals.get("self")
    location = getattr(owner, "location", None)
    return task.name.rpartition(".")[2] if location is None else str(location.name)


def _threads() -> set[str]:
    return {f"{thread.name} ({thread.ident})" for thread in threading.enumerate() if not thread.name.startswith("Trio")}


def _files() -> set[str]:
    """Return the open files of the process, where the system lists them."""
    found: set[str] = set()
    with suppress(OSError):
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the quickest
            with suppress(OSError):
                path = os.readlink(f"/proc/self/fd/{name}")  # noqa: PTH115 - as above
                if path.startswith("/") and not path.startswith("/dev/"):
                    found.add(f"{path} ({name})")
    return found
