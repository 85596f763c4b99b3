"""Judging on save: poll the files, and judge each that has changed."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from tutorials.command import commands
from tutorials.command.folder import Folder
from tutorials.command.terminal import keys, show
from tutorials.exercises import EXERCISES, Exercise

EVERY: Final = 0.2
"""Seconds between two polls."""

KEYS: Final = "n next   h hint   l list   c check all   r run again   q quit"


def watch(folder: Folder) -> int:
    """Judge saved files until the learner quits."""
    folder.expect()
    before = _saved(folder)
    with keys() as key:
        show(commands.task(folder, folder.now))
        show(f"\n{KEYS}")
        while True:
            pressed = key(EVERY)
            if pressed == "q":
                return 0
            with suppress(LookupError):
                _press(folder, pressed)
            now = _saved(folder)
            changed = [exercise for exercise, when in now.items() if when != before.get(exercise)]
            before = now
            for exercise in changed:
                _judge(folder, exercise)


def _press(folder: Folder, key: str) -> None:
    match key:
        case "n":
            commands.next(folder, skip=True)
        case "h":
            commands.hint(folder)
        case "l":
            commands.list(folder)
        case "c":
            commands.check(folder, all=True)
        case "r":
            _judge(folder, folder.now)
        case _:
            return
    show(f"\n{KEYS}")


def _judge(folder: Folder, exercise: Exercise) -> None:
    show(f"\n{folder.answer(exercise)} ...")
    if commands.check(folder, exercise.name) == 0:
        show("n shows the next")
    show(f"\n{KEYS}")


def _saved(folder: Folder) -> dict[Exercise, int]:
    """Return when each answer was saved."""
    return {exercise: when for exercise in EXERCISES if (when := _when(folder.answer(exercise)))}


def _when(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
