"""The costs of a run as counts, which are the same on every machine: answers, scheduler steps, tasks, Python frames."""

import random
import sys
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import pytest
import trio
from trio._core import _run as trio_run
from trio.testing import MockClock

T = TypeVar("T")


class Counts(NamedTuple):
    """The costs of a run."""

    answers: float
    """The answers to asks, on all edges."""
    steps: float
    """The steps of trio's scheduler."""
    tasks: float
    frames: float
    """The calls of Python functions, and the resumptions of generators and coroutines: processor time follows them."""


class Looked(int):
    """A number, or a time, that counts all comparisons and hashes of such numbers."""

    times = 0

    def __hash__(self) -> int:
        Looked.times += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Looked.times += 1
        return super().__eq__(other)

    def __lt__(self, other: int) -> bool:
        Looked.times += 1
        return super().__lt__(other)

    def __le__(self, other: int) -> bool:
        Looked.times += 1
        return super().__le__(other)


class Meter(trio.abc.Instrument):
    """Counts steps, tasks, and the frames of steps. Trio's own loop, which may wait for a thread, is not counted."""

    def __init__(self) -> None:
        self.steps = self.tasks = self.frames = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        sys.setprofile(self._profile)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        sys.setprofile(None)

    def task_spawned(self, task: trio.lowlevel.Task) -> None:
        self.tasks += 1

    def _profile(self, frame: Any, event: str, argument: Any) -> None:
        self.frames += event == "call"


def run_in_order(run: Callable[[], Awaitable[T]], *instruments: trio.abc.Instrument) -> T:
    """Run an async function in virtual time, with tasks in the same order in each run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)
        patch.setattr(trio_run, "_r", random.Random(0))
        return trio.run(run, clock=MockClock(autojump_threshold=0), instruments=instruments)


def count(run: Callable[[], Awaitable[int]]) -> Counts:
    """Run an async function, which returns the number of answers, in order, and count the other costs."""
    meter = Meter()
    answers = run_in_order(run, meter)
    return Counts(answers, meter.steps, meter.tasks, meter.frames)


def stop_clocks(replace: Callable[[Any, str, Any], None]) -> None:
    """Stop the clocks by which modules choose how much to ask for: counts then do not depend on the machine."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("pullstream.", "adapters.")):
            for clock in ("monotonic", "perf_counter", "thread_time"):
                if callable(getattr(module, clock, None)):
                    replace(module, clock, lambda: 0.0)
