"""`shake`: runs a pipeline under many seeds, and shrinks what breaks."""

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from threading import RLock
from typing import Final, get_args

from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import PullstreamError
from pullstream.shake.choices import Choice, Choices
from pullstream.shake.judging import Check, Compare, Wrong
from pullstream.shake.lives import Lives, folder_for
from pullstream.shake.report import Difference, Shaken
from pullstream.shake.simulation import MadePipeline, Simulated, shown
from pullstream.trace.file import Trace

SHOWN: Final = 3
"""The number of differences to shrink, each of a different kind."""

TRIES: Final = 400
"""The most runs for shrinking one difference."""

_ALONE: Final = RLock()
"""Held while a pipeline is shaken: the simulation replaces names of the whole process, and checks its leftovers."""

COMPARED: Final = {
    "order": "The values of each sink were compared in order",
    "times": "The values of each sink were compared per time",
    "nothing": "Values were not compared",
}


def shake(
    make: Callable[..., MadePipeline],
    seeds: int = 1000,
    *,
    seed: int | None = None,
    journal: bool = False,
    compare: Compare = "auto",
    checks: Sequence[Check] = (),
) -> Shaken:
    """Run the pipeline that `make` returns under many seeds, and compare each run with an undisturbed one.

    `make` is called for each run. It may also return a tuple of the pipeline and async functions of the `Running`,
    which use its handles. With `seed`, only this seed is run. `compare` says what must be the same in every run:
    "order" (the values at each sink), "times" (the values at each time), or "nothing". By default the modules'
    properties decide, and the report says how. `checks` are functions of the `Simulated` run that return a text if
    something is wrong. With `journal=True`, runs are killed and resumed, and `make` receives an empty folder for the
    files that the pipeline writes. The guide to `shake` says what a seed decides, and what is compared.

    Time is virtual: nothing really waits. Functions given to `trio.to_thread.run_sync` are called in the program's own
    thread, at a moment that the seed decides. Threads and processes that a program starts itself are not simulated. A
    call in another thread waits until this one has ended.

    >>> import pullstream as ps
    >>> from pullstream.shake import shake
    >>> print(shake(lambda: ps.pipe(ps.values("ab"), ps.map(str.upper), ps.collect()), 20))
    20 seeds: no difference. The values of each sink were compared in order: no module changes it.

    Raises:
        ValueError: `seeds` is less than 1, or `compare` is unknown.
        TypeError: `make` takes a folder, and there is no journal; or the other way round.
        PullstreamError: this version of trio cannot be simulated, the undisturbed run is wrong, or two of them differ;
            or it is called inside trio: in an async test, call it in a thread.
    """
    if seeds < 1:
        raise ValueError(f"shake() needs at least 1 seed, but got {seeds}")
    if compare not in get_args(Compare):
        raise ValueError(f"shake() compares {', '.join(map(repr, get_args(Compare)))}, but got {compare!r}")
    if running_program() is not None:
        raise PullstreamError("shake() starts trio programs, and one is running here: use a plain function")
    gc.collect()
    kinds: Counter[str] = Counter()
    differences: list[Difference] = []
    with _ALONE, folder_for(journal=journal) as folder:
        collecting = gc.isenabled()
        lives = Lives(make, folder)
        judging = lives.undisturbed(compare, checks)
        gc.disable()
        try:
            for number in range(seeds) if seed is None else (seed,):
                run, wrong = lives.run(Choices(number), number)
                if wrong is not None:
                    kinds[wrong.kind] += 1
                    if kinds[wrong.kind] == 1 and len(differences) < SHOWN:
                        differences.append(_shrunk(lives, number, run, wrong))
                # Between two runs: in the middle of one, a collection could change its course.
                gc.collect(1)
        finally:
            if collecting:
                gc.enable()
    compared = f"{COMPARED[judging.compare]}: {judging.why}."
    if (failure := judging.like.failure) is not None:
        compared += (
            f" The undisturbed run itself fails, with {shown(failure)}: other runs are right if they do, too."
            + judging.cut
            * " It cuts other branches or sources short at any value: only values that both runs give were compared."
        )
    return Shaken(seeds if seed is None else 1, compared, differences, kinds)


def _shrunk(lives: Lives, seed: int, run: Simulated, wrong: Wrong) -> Difference:
    """Find the fewest deviations that show the same kind of fault: leave out ever smaller parts of them."""
    deviations = dict(run.choices.deviations)
    tries = 0

    def shows(choices: Iterable[Choice]) -> tuple[Simulated, Wrong] | None:
        nonlocal tries
        tries += 1
        other, found = lives.run(Choices(script={choice: deviations[choice] for choice in choices}), seed)
        return None if found is None or found.kind != wrong.kind else (other, found)

    kept = list(deviations)
    best = shows(kept)
    if best is not None:
        size = max(1, len(kept) // 2)
        while kept and tries < TRIES:
            smaller = False
            for begin in range(0, len(kept), size):
                rest = kept[:begin] + kept[begin + size :]
                if tries < TRIES and (found := shows(rest)) is not None:
                    kept, best, smaller = rest, found, True
                    break
            if not smaller:
                if size == 1:
                    break
                size = max(1, size // 2)
        run, wrong = best
    return Difference(seed, wrong.kind, wrong.what, run.story(), len(deviations), run.trace, _step(run))


def _step(run: Simulated) -> int | None:
    """Return the event of the last deviation in the trace; None if the trace itself says where it breaks."""
    if not run.trace or run.verdict() or (run.watcher is not None and run.watcher.violations):
        return None
    events = Trace.of(run.trace.splitlines()).events
    return next((event[0] for event in reversed(events) if event[2] == "deviation"), None)
