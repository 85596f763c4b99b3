"""The commands, one function each, named as they are typed; each returns an exit code."""

import re
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill, indent
from typing import Final

from pullstream.trace import Trace, page_of
from tutorials.command.folder import FOLDER, Folder
from tutorials.command.terminal import bar, paged, show, width
from tutorials.contents import CHAPTERS, Chapter, chapter_numbered
from tutorials.exercises import EXERCISES, Exercise, exercise_named
from tutorials.exercises.judges import hints
from tutorials.judging import Verdict
from tutorials.judging.process import judged_apart
from tutorials.lesson import introduction, tell

ANSWERS: Final = Path(__file__).parents[2] / "tests" / "tutorials" / "answers"
"""The answers in the judge's tests: a name and the kinds of mistake, then a line on what the answer does."""


def where(folder: Folder) -> int:
    """Show the progress and the next exercise."""
    if not folder.begun:
        show("Chapters to read, exercises to do, and a judge of your answers.\n")
        show(f"python -m pullstream learn start   puts a template for each exercise into a folder, {FOLDER}")
        show("python -m pullstream learn list    shows all chapters and exercises")
        show(f"python -m pullstream learn read {CHAPTERS[0].number}  is the first chapter")
        return 0
    done = sum(map(folder.is_done, EXERCISES))
    show(bar(done, len(EXERCISES), width()))
    if done == len(EXERCISES):
        show("All answers are right.")
        return 0
    now = folder.next() if folder.is_done(folder.now) else folder.now
    if now is not None:
        show(f"next: {now.told}, {now.title} ({folder.answer(now)})\n")
        show(f"python -m pullstream learn watch{folder.option}   judges it whenever you save it")
        show(f"python -m pullstream learn hint{folder.option}    gives a hint, a clearer one each time")
        show(f"python -m pullstream learn read {now.read}   is where to read about it")
    return 0


def list(folder: Folder) -> int:
    """Show all chapters and exercises."""
    for chapter in CHAPTERS:
        beside = f" ({chapter.told_beside})" if chapter.shown else ""
        show(f"{chapter.number:>2}  {chapter.title}, {chapter.minutes} minutes{beside}{_missing(chapter)}")
        for exercise in chapter.exercises:
            show(f"    {_standing(folder, exercise):5} {exercise.told}: {exercise.title}")
    extras = sorted({extra for chapter in CHAPTERS for extra in chapter.missing})
    if extras:
        show(f"\nTo install what is missing: pip install 'pullstream[{','.join(extras)}]'")
    return 0


def read(what: str, *, page: bool) -> int:
    """Print a chapter, or one section of it."""
    number, _, piece = what.partition(".")
    chapter = chapter_numbered(number)
    if chapter.missing:
        raise LookupError(f"chapter {number} needs extras: pip install 'pullstream[{','.join(chapter.missing)}]'")
    if piece and (not piece.isdigit() or int(piece) not in chapter.pieces):
        raise LookupError(f"chapter {number} has no section {piece!r}; it has {', '.join(map(str, chapter.pieces))}")

    def told() -> None:
        if piece:
            tell(chapter.module, [int(piece)])
        else:
            if chapter.shown:
                show(f"{chapter.number}  {chapter.title}: {chapter.told_beside}\n")
                first = chapter.begins
                introduced = f"The introduction is that of chapter {first.number}: learn read {first.number}"
                show(introduction(chapter.module) if chapter is first else introduced)
            tell(chapter.module, chapter.shown or ())

    paged(told) if page else told()
    return 0


def start(folder: Folder) -> int:
    """Create the folder, or add templates for new exercises."""
    new = folder.start()
    show(f"{len(new)} templates are new in {folder.path}/; existing files are unchanged.")
    return where(folder)


def check(folder: Folder, name: str | None = None, *, all: bool = False, json: bool = False) -> int:
    """Judge one answer, or all that differ from their templates."""
    chosen = [exercise for exercise in EXERCISES if folder.is_touched(exercise)] if all else [_exercise(folder, name)]
    if not chosen:
        show(f"there are no answers in {folder.path}/ yet")
    codes = [0]
    for exercise in chosen:
        verdict = _judged(folder, exercise, _file(folder, exercise, name))
        codes.append(verdict.code)
        show(verdict.json() if json else verdict.told(width(), folder.option))
    return max(codes)


def next(folder: Folder, *, skip: bool = False) -> int:
    """Show the current exercise, or the next one if the current one is done or skipped."""
    folder.expect()
    exercise = folder.next() if skip or folder.is_done(folder.now) else folder.now
    if exercise is None:
        show("All answers are right.")
        return 0
    folder.go_to(exercise)
    show(task(folder, exercise))
    return 0


def hint(folder: Folder, name: str | None = None) -> int:
    """Show the next hint."""
    exercise = _exercise(folder, name)
    level = folder.hint(exercise)
    text = hints(exercise, folder.found(exercise))[level]
    show(fill(f"hint {level + 1} of 3 for {exercise.told}: {text}", min(100, width()), break_on_hyphens=False))
    return 0


def trace(folder: Folder, name: str | None = None) -> int:
    """Make a page that steps through the run in which an answer is wrong."""
    exercise = _exercise(folder, name)
    file = _file(folder, exercise, name)
    page = file.with_suffix(".html")
    with TemporaryDirectory() as kept:
        written = Path(kept) / "trace"
        verdict = _judged(folder, exercise, file, written)
        show(verdict.told(width(), folder.option))
        if verdict.right:
            return 0
        if not written.exists():
            raise LookupError("no run shows this mistake, so there is no page of it; see the verdict")
        run = Trace.read(written)
        told = f"{verdict.said}\n{verdict.happened}"
        made = page_of(run, f"{exercise.told}: {verdict.kind}", told=told, step=verdict.step)
        page.write_text(made, encoding="utf-8")
    show(f"\n{page} steps through it: open it in a browser")
    return 0


def reset(folder: Folder, name: str) -> int:
    """Restore a template."""
    folder.expect()
    exercise = _exercise(folder, name)
    show(f"{folder.answer(exercise)} is the template again; your answer is in {folder.reset(exercise)}")
    return 0


def solution(folder: Folder, name: str, *, anyway: bool) -> int:
    """Show a correct answer, and common mistakes."""
    exercise = _exercise(folder, name)
    if not (anyway or folder.is_done(exercise)):
        raise LookupError(
            f"your answer is not right yet: `hint {exercise.name}` gives a hint, and --anyway shows the solution"
        )
    show(exercise.solution.read_text().rstrip())
    answers = (ANSWERS / f"{exercise.name}.txt").read_text(encoding="utf-8")
    show("\nOthers got it wrong:")
    for why in re.findall(r"^# \w.*: (?!right$).+\n# (.+)", answers, re.MULTILINE):
        show(indent(fill(why, min(100, width()) - 2), "  "))
    return 0


def task(folder: Folder, exercise: Exercise) -> str:
    """Return the task of an exercise, and the file of its answer."""
    text = exercise.template.read_text().split('"""')[1].strip()
    return f"{text}\n\nanswer: {folder.answer(exercise)}   read: {exercise.read}"


def _file(folder: Folder, exercise: Exercise, name: str | None) -> Path:
    """Return the answer: the named file if there is one, or else the one in the folder."""
    named = Path(name or "")
    return named if named.suffix == ".py" and named.exists() else folder.answer(exercise)


def _judged(folder: Folder, exercise: Exercise, file: Path, trace: Path | None = None) -> Verdict:
    if not file.exists():
        folder.expect()
    verdict = judged_apart(exercise, file, trace=trace)
    if folder.begun and verdict.code != 2:
        # Show the verdict even if the folder is read-only.
        with suppress(OSError):
            folder.note(exercise, verdict.kind, right=verdict.right)
    return verdict


def _exercise(folder: Folder, name: str | None) -> Exercise:
    return folder.now if name is None else exercise_named(Path(name).name)


def _standing(folder: Folder, exercise: Exercise) -> str:
    if folder.is_done(exercise):
        return "done"
    return "begun" if folder.is_touched(exercise) else "open"


def _missing(chapter: Chapter) -> str:
    return f" (needs the extra {', '.join(chapter.missing)})" if chapter.missing else ""
