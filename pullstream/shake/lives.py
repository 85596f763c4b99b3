"""The lives of a simulated program: one without a journal; with a journal, runs that are killed, and one that ends."""

import shutil
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Final

from pullstream.errors import PullstreamError
from pullstream.shake.choices import Choices
from pullstream.shake.disk import JOURNAL, Disk, contents
from pullstream.shake.judging import Check, Compare, Judgement, Wrong
from pullstream.shake.simulation import MadePipeline, Simulated, Simulation

MOST: Final = 4
"""The most lives of a program with a journal; the last one is not disturbed."""

SEVERAL: Final = 0.8
"""The share of runs with a journal that are killed."""


class Lives:
    """Runs a program as choices decide; with a folder, each of its runs resumes the previous one with a journal."""

    def __init__(self, make: Callable[..., MadePipeline], folder: Path | None = None) -> None:
        """Raise a TypeError unless `make` takes a folder exactly if there is one."""
        try:
            signature(make).bind(*[folder] * (folder is not None))
        except TypeError as exc:
            raise TypeError(
                f"with a journal, the function that makes the pipeline must take one argument, a folder: {exc}"
                if folder
                else f"the function that makes the pipeline must need no argument or, with journal=True (--journal), "
                f"a folder: {exc}"
            ) from None
        self._folder = folder
        self._make: Callable[[], MadePipeline] = make if folder is None else partial(make, folder)
        self._like: Simulated
        self._judging: Judgement
        self._cut_short = False

    def undisturbed(self, compare: Compare, checks: Sequence[Check]) -> Judgement:
        """Judge other runs by the second of two undisturbed ones; refuse runs that are wrong, endless or different."""
        runs: list[Simulated] = []
        for _ in range(2):
            self._clear()
            runs.append(self._life(Choices(), 0))
            if runs[-1].endless:
                raise PullstreamError(runs[-1].endless)
        first, self._like = runs
        self._judging = Judgement(self._like, compare, checks)
        if (wrong := self._wrong(self._like)) is not None:
            raise PullstreamError(
                f"the undisturbed run is wrong, so nothing can be compared with it: {wrong.kind}: {wrong.what}"
            )
        if (wrong := Judgement(first, compare, ()).wrong(self._like)) is not None:
            raise PullstreamError(
                f"two undisturbed runs differ, so nothing can be compared with them: {wrong.kind}: {wrong.what}. The "
                f"function that makes the pipeline must make a new one at each call, which runs in the same way: "
                f"without chance, real clocks, or state that is kept"
            )
        return self._judging

    def run(self, choices: Choices, seed: int) -> tuple[Simulated, Wrong | None]:
        """Return the last run, or the first one that is wrong, and what is wrong with it."""
        self._clear()
        self._cut_short = False
        lives = 1 if self._folder is None else MOST
        for life in range(lives - 1):
            if choices.begin(life):
                run, wrong = self._judged(choices, MOST * seed + life, resumed=life > 0, last=False)
                if wrong is not None or (run.ending == self._like.ending and not run.way):
                    return run, wrong
        choices.begin(lives - 1)
        return self._judged(choices, MOST * seed + lives - 1, resumed=lives > 1, last=True)

    def _judged(self, choices: Choices, seed: int, *, resumed: bool, last: bool) -> tuple[Simulated, Wrong | None]:
        dies_at = 0 if last else choices.choose("kill", self._like.changes + 1, lambda _: "", share=SEVERAL)
        choice = next(reversed(choices.deviations)) if dies_at else None
        run = self._life(choices, seed, self._like, dies_at, last=last)
        run.resumed, run.cut_short = resumed, self._cut_short
        if choice is not None and run.died:
            choices.descriptions[choice] = f"the process was killed at its write number {dies_at}, {run.died}"
        self._cut_short |= run.way == "finish" or (run.injected is not None and self._judging.handles)
        return run, self._wrong(run)

    def _wrong(self, run: Simulated) -> Wrong | None:
        wrong = self._judging.wrong(run)
        if wrong is not None and self._folder is not None:
            # The folder's name differs from process to process.
            wrong = Wrong(wrong.kind, wrong.what.replace(str(self._folder), ".") + ", when resumed" * run.resumed)
        return wrong

    def _life(
        self, choices: Choices, seed: int, like: Simulated | None = None, dies_at: int = 0, *, last: bool = True
    ) -> Simulated:
        if self._folder is None:
            return Simulation(self._make, choices, like=like).run(seed)
        disk = Disk(self._folder, choices, dies_at)
        run = Simulation(self._make, choices, like=like, disk=disk, last=last).run(seed)
        # After a power failure, the next run may not even begin, and removes no hidden leftovers.
        ignored = (JOURNAL, "." if any(where == "power" for where, _ in choices.deviations) else JOURNAL)
        files = {str(path.relative_to(self._folder)): data for path, data in contents(self._folder).items()}
        run.files = {
            name: data for name, data in files.items() if not name.startswith(ignored) and f"/{ignored[1]}" not in name
        }
        run.trace = run.trace.replace(str(self._folder), ".")
        return run

    def _clear(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.mkdir()


@contextmanager
def folder_for(*, journal: bool) -> Generator[Path | None]:
    """Make a folder for a program with a journal."""
    with tempfile.TemporaryDirectory(prefix="pullstream-shake-") as folder:
        yield Path(folder).resolve() / "files" if journal else None
